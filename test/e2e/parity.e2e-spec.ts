import { Directory } from '#rollcall/registry';
import { until } from '#rollcall/test-support';
import { mcpEdge } from '../support/mcp-run-edge.js';
import { startApi, type TestApi } from '../support/api.js';
import { FLEET, type FleetAgent, type FleetScenario, MixedFleet } from '../support/mixed-fleet.js';
import {
  httpJsonEdge,
  type Outcome,
  type Refusal,
  restEdge,
  rpcEdge,
  type RunEdge,
  type Work,
} from '../support/run-edges.js';

const USAGE = { inputTokens: 11, outputTokens: 7 };
const BYTES = Buffer.from(Array.from({ length: 256 }, (_none, index) => 255 - index)).toString('base64');
const EDGES = ['REST', 'JSONRPC', 'HTTP+JSON', 'MCP'];
const remote = FLEET.filter((agent) => agent !== 'native');

let fleet: MixedFleet;
let api: TestApi;
let edges: RunEdge[];
beforeAll(async () => {
  fleet = await MixedFleet.start();
  // the agents send no heartbeats, and on a busy machine a circuit must stay open
  const settings = { ...fleet.environment, ROLLCALL_HEARTBEAT_EVERY: '10m' };
  api = await startApi(settings, { constants: { circuit: { coolDownMs: 300_000 } } });
  await fleet.install(api);
  const key = await api.given.key('caller');
  edges = [...[restEdge, rpcEdge, httpJsonEdge].map((edge) => edge(api.url, key)), await mcpEdge(api.url, key)];
});
afterAll(async () => {
  await api.stop();
  await fleet.stop();
});

/** Does the same on all edges at the same time. */
async function onEach<Result>(act: (edge: RunEdge) => Promise<Result>): Promise<Result[]> {
  return await Promise.all(edges.map(act));
}

/** The stored run, without the fields that differ between two equal runs. */
async function storedRun(id: string): Promise<object> {
  const { agentId, definition, state, waitingFor, input, budget, result, usage, attempts, createdBy } = (
    await api.call('GET', `/v1/runs/${id}`)
  ).body;
  return { agentId, definition, state, waitingFor, input, budget, result, usage, attempts, createdBy };
}

const withoutId = ({ id: _id, ...rest }: Outcome): Omit<Outcome, 'id'> => rest;

/** Expects that all runs are equal, and that all edges return the same outcome. Returns this outcome. */
async function expectSame(outcomes: readonly (Outcome | Refusal)[]): Promise<Omit<Outcome, 'id'>> {
  const runs = outcomes as Outcome[];
  expect(runs.map(({ id }) => typeof id)).toEqual(EDGES.map(() => 'string'));
  const stored = await Promise.all(runs.map(async ({ id }) => await storedRun(id)));
  const [first = {}] = stored;
  expect(stored).toEqual(EDGES.map(() => first));
  const shown = runs.map(withoutId);
  expect(shown).toEqual(EDGES.map(() => shown[0]));
  return shown[0];
}

const work = (agent: FleetAgent, scenario: FleetScenario, more: Partial<Work> = {}): Work => ({
  text: MixedFleet.textOf(agent, scenario),
  ...more,
});

describe('the same message over REST, both bindings of A2A, and MCP', () => {
  it.each(FLEET)('S3.12 B9 %s: the run, the answer and the cost are the same', async (agent) => {
    const sent = work(agent, { does: 'answer', pieces: ['One ', 'two.'], usage: { ...USAGE, costMicroUsd: 90 } });
    const budget = { tokens: 100_000 };
    const shown = await expectSame(await onEach(async (edge) => await edge.run(agent, { ...sent, budget })));
    expect(shown).toMatchObject({ state: 'completed', says: [{ type: 'text', text: 'One two.' }], usage: USAGE });
  });

  it.each(remote)('S3.12 %s: data and files are the same, and unchanged', async (agent) => {
    const data = { list: [1, null, 'é'], empty: {} };
    const echoed = await onEach(async (edge) => await edge.run(agent, { ...work(agent, { does: 'echo' }), data }));
    expect(await expectSame(echoed)).toMatchObject({ state: 'completed', says: [{ type: 'data', data }] });
    const file = { type: 'file', bytes: BYTES, mediaType: 'image/png', name: 'a b.png' } as const;
    const link = { type: 'file', url: 'https://files.example.com/a.pdf', mediaType: 'application/pdf' } as const;
    const chunks = [{ id: 'files', parts: [file, link], append: false, last: true }];
    const produced = await onEach(async (edge) => await edge.run(agent, work(agent, { does: 'produce', chunks })));
    expect(await expectSame(produced)).toMatchObject({ state: 'completed', says: [file, link] });
  });

  it.each(FLEET)('S3.12 %s: a refusal of the agent, a limit and a failure are the same', async (agent) => {
    const play = async (scenario: FleetScenario): Promise<unknown> =>
      await expectSame(await onEach(async (edge) => await edge.run(agent, work(agent, scenario))));
    const says = [{ type: 'text', text: 'Not that.' }];
    expect(await play({ does: 'refuse', message: 'Not that.' })).toMatchObject({ state: 'refused', says });
    const stop: FleetScenario = { does: 'stop', pieces: ['Half'], reason: 'iterations', detail: 'Too long.' };
    expect(await play(stop)).toMatchObject({ state: 'stopped', says: [{ text: 'Half' }], reason: expect.any(String) });
    expect(await play({ does: 'fail', message: 'Broken.' })).toMatchObject({
      state: 'failed',
      error: { code: expect.stringMatching(/^[A-Z_]+$/) },
    });
  });

  it.each<FleetAgent>(['native', 'a2a', 'a2a-legacy'])(
    'S3.12 %s: a question and its answer are the same',
    async (agent) => {
      const ask = work(agent, { does: 'ask', question: 'Which branch?' });
      const asked = await onEach(async (edge) => await edge.run(agent, ask));
      expect(await expectSame(asked)).toMatchObject({ state: 'waiting', says: [{ text: 'Which branch?' }] });
      const answer = MixedFleet.textOf(agent, { does: 'answer', pieces: ['main it is.'] });
      const ids = asked.map((one) => (one as Outcome).id);
      const answered = await onEach(async (edge) => await edge.answer(agent, ids[edges.indexOf(edge)] ?? '', answer));
      expect(answered.map(({ id }) => id)).toEqual(ids);
      expect(await expectSame(answered)).toMatchObject({ state: 'completed', says: [{ text: 'main it is.' }] });
    },
  );

  it.each(FLEET)('S3.12 %s: a cancellation ends the work', async (agent) => {
    const times: string[] = [];
    const cancelled: (Outcome | Refusal)[] = [];
    for (const edge of edges) {
      const id = await edge.begin(agent, work(agent, { does: 'hang', pieces: ['Half'] }));
      await until('the agent works', async () => (await stateOf(id)) === 'running' && isBusy(agent));
      const started = performance.now();
      cancelled.push(await edge.cancel(agent, id));
      await until('the agent has stopped', () => agent === 'native' || fleet.busy(agent) === 0);
      times.push(`${edge.name} ${Math.round(performance.now() - started)} ms`);
    }
    process.stdout.write(`cancel of ${agent}: ${times.join(', ')}\n`);
    expect(cancelled.map((one) => (one as Outcome).state)).toEqual(EDGES.map(() => 'cancelled'));
    const again = await onEach(async (edge) => await edge.cancel(agent, (cancelled[0] as Outcome).id));
    await expectSame(again);
  });
});

async function stateOf(id: string): Promise<unknown> {
  return (await api.call('GET', `/v1/runs/${id}`)).body['state'];
}

/** The fake HTTP agent and the model do not report how many calls they work on. */
function isBusy(agent: FleetAgent): boolean {
  return agent === 'native' || agent === 'http' || fleet.busy(agent) > 0;
}

describe('a request that is rejected before work, over REST, both bindings of A2A, and MCP', () => {
  const answer = MixedFleet.textOf('native', { does: 'answer', pieces: ['done'] });
  const refusals = async (agent: string, more: Partial<Work> = {}): Promise<unknown[]> =>
    (await onEach(async (edge) => await edge.run(agent, { text: answer, ...more }))).map(
      (one) => (one as Refusal).code,
    );

  it.each<[string, string, Partial<Work>, string]>([
    ['no budget', 'native', { budget: { tokens: 0 } }, 'SPENDING_LIMIT_REACHED'],
    ['a drained agent', 'agent:drain', {}, 'RUN_TARGET_UNAVAILABLE'],
    ['a quarantined agent', 'agent:quarantine', {}, 'RUN_TARGET_UNAVAILABLE'],
  ])('S3.12 gets the same code for %s', async (_name, agent, more, code) => {
    expect(await refusals(agent, more)).toEqual(EDGES.map(() => code));
  });

  it('S3.12 gets the same code for an open circuit', async () => {
    const broken = { agentId: 'broken', endpoint: 'http://127.0.0.1:8099', capabilities: ['broken'] };
    await api.given.agent({ ...broken, circuit: 'open' });
    const directory = api.app.nest.get(Directory, { strict: false });
    const circuit = (): unknown => directory.find('broken')?.record.health.circuitBreakerState;
    await until('the replica knows the circuit', () => circuit() === 'open');
    expect(await refusals('', { capabilities: ['broken'] })).toEqual(EDGES.map(() => 'RUN_TARGET_UNAVAILABLE'));
  });

  it('S3.12 gets the same code for an agent that has as many runs as it accepts', async () => {
    const [edge] = edges as [RunEdge];
    const id = await edge.begin('single', work('native', { does: 'hang', pieces: [] }));
    expect(await refusals('single')).toEqual(EDGES.map(() => 'AGENT_BUSY'));
    await edge.cancel('single', id);
  });

  it('S3.12 gets the code of its protocol for an agent or a run that does not exist', async () => {
    const none = ['RUN_TARGET_UNKNOWN', 'AGENT_NOT_FOUND', 'AGENT_NOT_FOUND', 'AGENT_NOT_FOUND'];
    expect(await refusals('agent:absent')).toEqual(none);
    const codes = await onEach(async (edge) => ((await edge.cancel('native', 'absent')) as Refusal).code);
    expect(codes).toEqual(['RUN_NOT_FOUND', 'TASK_NOT_FOUND', 'TASK_NOT_FOUND', 'RUN_NOT_FOUND']);
  });
});
