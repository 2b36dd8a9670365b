import { AgentProviderRegistry, VendorRegistry } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';
import { FakeAgentProvider } from '#rollcall/agent-runtime/testing';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer, CallOptions } from '../support/call.js';

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

const PATH = '/v1/runtime/agents';
const CONTENT = { description: 'Greets visitors.', capabilities: ['greet'], maxConcurrency: 2 };
const spawn = async (body: object, options: CallOptions = {}): Promise<Answer> =>
  await api.call('POST', PATH, { body, ...options });
const shutdown = async (name: string, options: CallOptions = {}): Promise<Answer> =>
  await api.call('DELETE', `${PATH}/${name}`, options);

async function auditOf(action: string): Promise<unknown[]> {
  const { body } = await api.call<{ items: { action: string; target: string }[] }>('GET', '/v1/audit?limit=200');
  return body.items.filter((entry) => entry.action === action);
}

describe('/v1/runtime', () => {
  it('S1.1 S1.3 S3.11 spawns an agent, which is found here, in the registry and in queries, until it is shut down', async () => {
    await api.call('POST', '/v1/definitions', { body: { name: 'greeter', content: CONTENT } });
    expect(await spawn({ definition: 'greeter' })).toMatchObject({
      status: 201,
      body: { name: 'greeter', agentType: 'in-process', provider: 'native', state: 'idle', definition: 'greeter' },
    });
    expect((await api.call('HEAD', `${PATH}/greeter`)).status).toBe(200);
    expect((await api.call('HEAD', `${PATH}/absent`)).status).toBe(404);
    const { body } = await api.call('GET', '/v1/agents/greeter');
    expect(body).toMatchObject({ status: 'active', definition: 'greeter@1', load: { capacity: 2 } });
    const query = await api.call('POST', '/v1/agents/query', {
      body: { capabilities: ['greet'], consistency: 'strong' },
    });
    expect(JSON.stringify(query.body)).toContain('"greeter"');
    expect(await spawn({ definition: 'greeter' })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_ALREADY_EXISTS' },
    });
    expect(await shutdown('greeter')).toMatchObject({
      status: 200,
      body: { phase: 'stop', forced: false, error: null },
    });
    expect(await shutdown('greeter')).toMatchObject({ status: 404, body: { code: 'AGENT_NOT_FOUND' } });
    expect((await api.call('GET', `${PATH}/greeter`)).status).toBe(404);
    expect(await auditOf('agent.spawned')).toMatchObject([{ target: 'greeter' }]);
    expect(await auditOf('agent.shutdown')).toMatchObject([{ target: 'greeter' }]);
  });

  it('S1.5 M-10 a shutdown that fails removes the agent, and returns 502 with the report, also when it is repeated', async () => {
    api.app.nest.get(AgentProviderRegistry).register(new FakeAgentProvider());
    const content = { description: 'Cannot close.', provider: 'fake', settings: { closes: 'fails' } };
    expect(await spawn({ name: 'stuck', content })).toMatchObject({ status: 201 });
    const failed = {
      status: 502,
      body: { code: 'AGENT_SHUTDOWN_FAILED', phase: 'abort', forced: false, error: 'stuck cannot be closed' },
    };
    const headers = { 'idempotency-key': 'close-stuck' };
    expect(await shutdown('stuck', { headers })).toMatchObject(failed);
    expect(await shutdown('stuck', { headers })).toMatchObject(failed);
    expect((await api.call('GET', `${PATH}/stuck`)).status).toBe(404);
    expect(await auditOf('agent.shutdown')).toContainEqual(
      expect.objectContaining({ target: 'stuck', details: { phase: 'abort', error: 'stuck cannot be closed' } }),
    );
  });

  it('S4.6 M-10 a tree of runs is as deep as maxDelegationDepth allows, up to 32 levels', async () => {
    const models = { name: 'test', needsKey: false, open: ({ model }: { model: string }) => chained(Number(model)) };
    api.app.nest.get(VendorRegistry).register(models);
    for (let level = 0; level <= 33; level += 1) {
      const content = { description: 'One of a chain.', model: { vendor: 'test', model: String(level) } };
      const body = { name: `level-${level}`, content: { ...content, maxDelegationDepth: 32 } };
      expect((await api.call('POST', '/v1/definitions', { body })).status).toBe(201);
    }
    const body = { definition: 'level-0', input: 'Begin.', budget: { tokens: 1_000_000 } };
    const run = await api.call('POST', '/v1/runs?waitMs=30000', { body });
    expect(run.body).toMatchObject({ state: 'completed' });
    const { body: tree } = await api.call('GET', `/v1/runs/${String(run.body['id'])}/tree`);
    let deepest = tree as { run: { depth: number; agentId: string }; children: (typeof deepest)[] };
    while (deepest.children[0]) deepest = deepest.children[0];
    expect(deepest.run).toMatchObject({ depth: 32, agentId: 'level-32' });
  });

  it('S1.4 lists agents in pages, by state and by provider', async () => {
    for (const name of ['b', 'a', 'c']) await spawn({ name, content: CONTENT });
    const first = await api.call('GET', `${PATH}?limit=2&state=idle&provider=native`);
    expect(first.body).toMatchObject({ items: [{ name: 'a' }, { name: 'b' }] });
    const next = await api.call('GET', `${PATH}?cursor=${String(first.body['nextCursor'])}`);
    expect(next.body).toMatchObject({ items: [{ name: 'c' }], nextCursor: null });
    expect((await api.call('GET', `${PATH}?state=busy`)).body).toMatchObject({ items: [] });
    expect((await api.call('GET', `${PATH}?state=asleep`)).status).toBe(400);
  });

  it('S1.1 B6 the budget of the content limits the runs of a spawned agent, whatever its name is', async () => {
    const content = { ...CONTENT, capabilities: ['bound'], budget: { tokens: 50_000, microUsd: null } };
    await api.call('POST', '/v1/definitions', { body: { name: 'bound', content } });
    await spawn({ definition: 'bound', name: 'bound-2' });
    await spawn({ name: 'bound-3', content: { ...content, capabilities: ['bound-3'] } });
    const run = async (target: object): Promise<unknown> =>
      (await api.call('POST', '/v1/runs', { body: { input: 'Hello.', ...target } })).body;
    const budget = content.budget;
    const definition = { name: 'bound', revision: 1 };
    expect(await run({ agent: 'bound-2' })).toMatchObject({ agentId: 'bound-2', definition, budget });
    expect(await run({ agent: 'bound-3' })).toMatchObject({ agentId: 'bound-3', definition: null, budget });
    const { id } = (await run({ capabilities: ['bound'] })) as { id: string };
    const { body } = await api.call('GET', `/v1/runs/${id}?waitMs=20000`);
    expect(body).toMatchObject({ state: 'completed', agentId: 'bound-2', definition, budget });
  });

  it('S1.6 shuts down all agents of the namespace', async () => {
    const { body: before } = await api.call<{ items: { name: string }[] }>('GET', PATH);
    const { status, body } = await api.call('POST', '/v1/runtime/shutdown', { body: { timeoutMs: 5_000 } });
    const names = before.items.map(({ name }) => name);
    expect({ status, body }).toMatchObject({ status: 200, body: { succeeded: names, failed: {} } });
    expect((await api.call('GET', PATH)).body).toEqual({ items: [], nextCursor: null });
  });

  it('S1.2 a repetition with the same Idempotency-Key neither spawns nor shuts down a second time', async () => {
    const spawning = { headers: { 'idempotency-key': 'spawn-1' } };
    const stopping = { headers: { 'idempotency-key': 'stop-1' } };
    const body = { name: 'once', content: CONTENT };
    const first = await spawn(body, spawning);
    expect(await spawn(body, spawning)).toMatchObject({ status: 201, body: first.body });
    const stopped = await shutdown('once', stopping);
    await spawn(body);
    expect((await shutdown('once', stopping)).body).toEqual(stopped.body);
    expect((await api.call('GET', `${PATH}/once`)).status).toBe(200);
  });

  it('S1.2 concurrent requests with one Idempotency-Key spawn one agent', async () => {
    const headers = { 'idempotency-key': 'spawn-2' };
    const body = { name: 'twice', content: CONTENT };
    const answers = await Promise.all(Array.from({ length: 4 }, async () => await spawn(body, { headers })));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ body: one }) => one['spawnedAt'])).size).toBe(1);
  });

  it('S1.1 rejects an incomplete request, an unknown definition and a reserved name', async () => {
    expect(await spawn({})).toMatchObject({ status: 400, body: { code: 'SPAWN_INVALID' } });
    expect(await spawn({ name: 'x', content: { ...CONTENT, provider: 'absent' } })).toMatchObject({
      status: 400,
      body: { code: 'DEFINITION_INVALID' },
    });
    expect(await spawn({ definition: 'absent' })).toMatchObject({
      status: 404,
      body: { code: 'DEFINITION_NOT_FOUND' },
    });
    expect(await spawn({ name: 'greeter', content: CONTENT })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_NAME_RESERVED' },
    });
    await api.given.agent({ agentId: 'external' });
    expect(await spawn({ name: 'external', content: CONTENT })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_ALREADY_EXISTS' },
    });
  });
});

/** Delegates to the next level, if it has the tool. */
function chained(level: number): ScriptedModel {
  return new ScriptedModel(({ tools = [] }, call) =>
    call === 1 && tools.some(({ name }) => name === 'spawn_subagent')
      ? callTool('spawn_subagent', { subagent: `level-${level + 1}`, prompt: 'Go on.' })
      : say(`I am level ${level}.`),
  );
}
