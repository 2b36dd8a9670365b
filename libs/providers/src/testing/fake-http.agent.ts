import type { ServerResponse } from 'node:http';
import type { AgentScenario } from './agent-scenario.js';
import { LocalServer, type RecordedRequest } from './local-server.js';

/** The format of the response. */
export type HttpDialect = 'json' | 'ndjson' | 'sse';

const CONTENT_TYPES = { json: 'application/json', ndjson: 'application/x-ndjson', sse: 'text/event-stream' };

/** Starts a fake HTTP agent that executes the scenario in the text of its message. */
export async function startFakeHttpAgent(dialect: HttpDialect): Promise<LocalServer> {
  return await LocalServer.start((request, response) => execute(request, response, dialect));
}

function execute(request: RecordedRequest, response: ServerResponse, dialect: HttpDialect): void {
  const scenario = JSON.parse((request.body as { text: string }).text) as AgentScenario;
  const events = [...piecesOf(scenario), ...endOf(scenario)];
  const ends = scenario.does === 'answer' || scenario.does === 'fail';
  if (!ends && dialect === 'json') return void (scenario.does === 'crash' && response.destroy());
  response.writeHead(200, { 'content-type': CONTENT_TYPES[dialect] });
  if (dialect === 'json') return void response.end(JSON.stringify(whole(scenario)));
  for (const event of events)
    response.write(dialect === 'sse' ? `data: ${JSON.stringify(event)}\n\n` : `${JSON.stringify(event)}\n`);
  if (ends) response.end();
  if (scenario.does === 'crash') setImmediate(() => response.destroy());
}

function piecesOf(scenario: AgentScenario): object[] {
  return 'pieces' in scenario ? scenario.pieces.map((text) => ({ type: 'text', text })) : [];
}

function endOf(scenario: AgentScenario): object[] {
  if (scenario.does === 'answer') return [{ type: 'result', usage: scenario.usage }];
  return scenario.does === 'fail' ? [{ type: 'error', message: scenario.message }] : [];
}

function whole(scenario: AgentScenario): object {
  if (scenario.does === 'answer') return { text: scenario.pieces.join(''), usage: scenario.usage };
  return { type: 'error', message: scenario.does === 'fail' ? scenario.message : '' };
}
