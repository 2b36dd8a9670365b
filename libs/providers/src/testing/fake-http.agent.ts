import type { ServerResponse } from 'node:http';
import type { ContentPart } from '../agents/content.part.js';
import type { AgentScenario } from './agent-scenario.js';
import { LocalServer, type RecordedRequest } from './local-server.js';

/** The format of the response. */
export type HttpDialect = 'json' | 'ndjson' | 'sse';

const CONTENT_TYPES = { json: 'application/json', ndjson: 'application/x-ndjson', sse: 'text/event-stream' };

/** Starts a fake HTTP agent that executes the scenario in the text of its message. */
export async function startFakeHttpAgent(dialect: HttpDialect): Promise<LocalServer> {
  return await LocalServer.start((request, response) => execute(request, response, dialect));
}

interface ReceivedMessage {
  text: string;
  parts: ContentPart[];
  context?: unknown;
}

function execute(request: RecordedRequest, response: ServerResponse, dialect: HttpDialect): void {
  const received = request.body as ReceivedMessage;
  const scenario = JSON.parse(received.text) as AgentScenario;
  const end = endOf(scenario, received);
  if (!end && dialect === 'json') return void (scenario.does === 'crash' && response.destroy());
  response.writeHead(200, { 'content-type': CONTENT_TYPES[dialect] });
  if (dialect === 'json') return void response.end(JSON.stringify(whole(scenario, end)));
  for (const event of [...piecesOf(scenario), ...(end ? [end] : [])])
    response.write(dialect === 'sse' ? `data: ${JSON.stringify(event)}\n\n` : `${JSON.stringify(event)}\n`);
  if (end) response.end();
  if (scenario.does === 'crash') setImmediate(() => response.destroy());
}

function piecesOf(scenario: AgentScenario): object[] {
  if (scenario.does === 'produce') return scenario.chunks.map((artifact) => ({ type: 'artifact', artifact }));
  return 'pieces' in scenario ? scenario.pieces.map((text) => ({ type: 'text', text })) : [];
}

/** The last event; undefined if the response does not end normally. */
function endOf(scenario: AgentScenario, { parts, context }: ReceivedMessage): object | undefined {
  switch (scenario.does) {
    case 'answer':
      return { type: 'result', usage: scenario.usage };
    case 'fail':
      return { type: 'error', message: scenario.message };
    case 'echo':
      return { type: 'result', parts: parts.slice(1) };
    case 'produce':
      return { type: 'result' };
    case 'show context':
      return { type: 'result', data: context };
    case 'refuse':
      return { type: 'result', outcome: 'refused', text: scenario.message, usage: scenario.usage };
    case 'stop': {
      const { reason, detail, usage } = scenario;
      return { type: 'result', outcome: 'stopped', reason, detail, usage };
    }
    case 'hang':
    case 'crash':
      return undefined;
  }
}

/** An answer that is not streamed repeats the pieces as its text. */
function whole(scenario: AgentScenario, end?: object): object {
  return { ...('pieces' in scenario && { text: scenario.pieces.join('') }), ...end };
}
