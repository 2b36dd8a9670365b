import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { A2aWorker, HttpWorker } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { mcpClient } from '../support/mcp-client.js';
import { type Attributes, OtlpCollector, type OtlpSpan } from '../support/otlp.collector.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);
const CONVERSATION = 'c-1';

/** The attributes that the conventions of OpenTelemetry require, by `gen_ai.operation.name`. */
const REQUIRED: Record<string, string[]> = {
  chat: [
    'gen_ai.provider.name',
    'gen_ai.request.model',
    'gen_ai.response.finish_reasons',
    'gen_ai.usage.output_tokens',
  ],
  invoke_agent: ['gen_ai.provider.name', 'gen_ai.agent.name'],
  execute_tool: ['gen_ai.tool.name'],
};

let folder: string;
let url: string;
let database: Client;
let collector: OtlpCollector;
let replicas: RollcallProcess[];
let http: HttpWorker;
let a2a: A2aWorker;

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  database = new Client({ connectionString: url });
  await database.connect();
  [collector, http, a2a] = await Promise.all([
    OtlpCollector.start(),
    HttpWorker.start({ isIdempotent: true }),
    A2aWorker.start({ workMs: 1 }),
  ]);
  replicas = [await start().ready()];
  replicas.push(await start().ready());
  await post('/v1/agents', {
    agentId: 'http',
    name: 'http',
    capabilities: ['work'],
    endpoint: http.url,
    idempotent: true,
  });
  await post('/v1/agents', {
    agentId: 'a2a',
    name: 'a2a',
    capabilities: ['work'],
    endpoint: a2a.url,
    agentCard: { name: 'a2a' },
  });
  await define('helper');
  await define('lead', { tools: ['clock', 'delegate_to_agent'] });
});
afterAll(async () => {
  await Promise.all(replicas.map(async (one) => await one.end('SIGKILL')));
  await Promise.all([http.close(), a2a.close(), collector.close(), database.end()]);
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(): RollcallProcess {
  const environment = {
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_HEARTBEAT_EVERY: '10m',
    ...collector.environment,
  };
  return new RollcallProcess(environment, { constants: { runtime: { runs: { leaseMs: 5_000 } } } });
}

async function post<Body = { id: string }>(
  path: string,
  body: object,
  headers?: Record<string, string>,
): Promise<Body> {
  const answer = await call<Body>(replicas[0]?.url ?? '', 'POST', path, { key: KEY, body, headers });
  if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

async function define(name: string, more: object = {}): Promise<void> {
  await post('/v1/definitions', { name, content: { description: name, instructions: 'Work.', ...more } });
}

/** A position in a trace of the caller. */
function position(): { traceId: string; spanId: string; traceparent: string } {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` };
}

/** The spans of a trace. */
function trace(traceId: string): { all(name: string): OtlpSpan[]; one(name: string): OtlpSpan; spans: OtlpSpan[] } {
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const all = (name: string): OtlpSpan[] => spans.filter((span) => span.name === name);
  return {
    spans,
    all,
    one: (name) => {
      const [found, second] = all(name);
      if (!found || second) throw new Error(`${all(name).length} spans ${name} in ${spans.map((s) => s.name).join()}`);
      return found;
    },
  };
}

function series(name: string): { unit: string; attributes: Attributes }[] {
  return collector.series.filter((one) => one.name === name);
}

const CALLS = [
  'Call clock {}',
  'Call delegate_to_agent {"agent":"helper","task":"Hello."}',
  'Call delegate_to_agent {"agent":"a2a","task":"Work."}',
  'Call delegate_to_agent {"agent":"http","task":"Work."}',
];

describe('traces and metrics over OTLP', () => {
  it('M-7 P-8 one trace connects the request, the run on two replicas, its models, tools and agents', async () => {
    const caller = position();
    const body = { definition: 'lead', conversationId: CONVERSATION, input: CALLS.join('\n') };
    const run = await post('/v1/runs', body, { traceparent: caller.traceparent });
    await until('the last agent works', () => http.busy === 1, 60_000);
    await until(
      'the first replica has sent its spans',
      () => trace(caller.traceId).all('invoke_agent a2a').length === 1,
    );
    const { rows } = await database.query<{ parent: string }>(
      `SELECT trace -> 'execution' ->> 'traceparent' AS parent FROM run WHERE id = $1`,
      [run.id],
    );
    await replicas[0]?.end('SIGKILL');
    http.release();
    await until('the run has ended', async () => {
      const { body: facts } = await call(replicas[1]?.url ?? '', 'GET', `/v1/runs/${run.id}`, { key: KEY });
      return facts['state'] === 'completed' && facts['attempts'] === 2;
    });
    await until('the second replica has sent its spans', () => trace(caller.traceId).all('run lead').length === 1);

    const { spans, one, all } = trace(caller.traceId);
    const request = one('POST /v1/runs');
    expect(request).toMatchObject({ kind: 'SERVER', parent: caller.spanId });
    expect(request.attributes).toMatchObject({ 'http.response.status_code': 202, 'url.path': '/v1/runs' });

    const execution = one('run lead');
    expect(execution).toMatchObject({ parent: request.spanId, attributes: { 'rollcall.attempt': 2 } });
    expect(execution.links).toMatchObject([{ traceId: caller.traceId, spanId: rows[0]?.parent.split('-')[2] }]);

    const lead = one('invoke_agent lead');
    expect(lead).toMatchObject({ kind: 'INTERNAL', parent: execution.spanId });
    const models = all('chat demo');
    expect(models.length).toBeGreaterThanOrEqual(CALLS.length + 1);
    expect(models.at(-1)).toMatchObject({ kind: 'CLIENT', parent: lead.spanId });

    const tools = new Map(all('execute_tool delegate_to_agent').map((tool) => [tool.spanId, tool]));
    for (const name of ['invoke_agent helper', 'invoke_agent a2a', 'invoke_agent http'])
      expect(tools.get(one(name).parent)?.kind).toBe('INTERNAL');
    expect(one('invoke_agent helper').kind).toBe('INTERNAL');
    expect(one('execute_tool clock')).toMatchObject({ attributes: { 'gen_ai.tool.name': 'clock' } });
    expect(tools.get(one('invoke_agent http').parent)?.parent).toBe(lead.spanId);

    // each request to an agent names the span of its call
    const sent = (worker: HttpWorker | A2aWorker): unknown[] =>
      worker.requests.map(({ headers }) => headers['traceparent']);
    expect(sent(http).at(-1)).toBe(`00-${caller.traceId}-${one('invoke_agent http').spanId}-01`);
    expect(sent(a2a)).toContain(`00-${caller.traceId}-${one('invoke_agent a2a').spanId}-01`);

    for (const { attributes } of spans) {
      const name = attributes['gen_ai.operation.name'];
      if (name === undefined) continue;
      const required = REQUIRED[String(name)] ?? ['an operation of the conventions'];
      for (const key of required) expect(attributes).toHaveProperty([key]);
      expect(attributes).toMatchObject({ 'gen_ai.conversation.id': CONVERSATION });
    }
    expect(collector.text).not.toContain(KEY);
  });

  it('M-7 a call over MCP continues the trace that the client names in _meta, and links the request', async () => {
    const caller = position();
    const client = await mcpClient(`${replicas[1]?.url ?? ''}/mcp`, KEY);
    const { traceparent } = caller;
    await client.callTool({
      name: 'run_agent',
      arguments: { agent: 'helper', input: 'Hello.' },
      _meta: { traceparent },
    });
    await client.close();
    await until('the spans are received', () => trace(caller.traceId).all('run helper').length === 1);
    const { one } = trace(caller.traceId);
    const tool = one('tools/call run_agent');
    expect(tool).toMatchObject({ kind: 'SERVER', parent: caller.spanId });
    expect(tool.attributes).toMatchObject({ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'run_agent' });
    const [link] = tool.links;
    expect(collector.spans.find(({ spanId }) => spanId === link?.spanId)).toMatchObject({ name: 'POST /mcp' });
    expect(one('run helper').parent).toBe(tool.spanId);
    expect(one('invoke_agent helper').parent).toBe(one('run helper').spanId);
  });

  it('P-8 the metrics of models and of HTTP have the names, units and attributes of the conventions', async () => {
    const names = ['gen_ai.client.operation.duration', 'gen_ai.client.token.usage', 'http.server.request.duration'];
    await until('the metrics are received', () => names.every((name) => series(name).length > 0));
    const model = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'demo',
    };
    const [duration, tokens] = names.map(series);
    expect(duration).toContainEqual(expect.objectContaining({ unit: 's', attributes: expect.objectContaining(model) }));
    for (const type of ['input', 'output'])
      expect(tokens).toContainEqual(
        expect.objectContaining({
          unit: '{token}',
          attributes: expect.objectContaining({ ...model, 'gen_ai.token.type': type }),
        }),
      );
    await call(replicas[1]?.url ?? '', 'GET', '/v1/keys', { key: KEY });
    const facts = { 'http.request.method': 'GET', 'http.route': '/v1/keys', 'http.response.status_code': 200 };
    const expected = Object.entries({ ...facts, 'url.scheme': 'http' });
    const isIt = ({ unit, attributes }: ReturnType<typeof series>[number]): boolean =>
      unit === 's' && expected.every(([key, value]) => attributes[key] === value);
    await until('the request is measured', () => series('http.server.request.duration').some(isIt));
  });
});
