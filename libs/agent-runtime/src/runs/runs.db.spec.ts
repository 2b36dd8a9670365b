import { type Database } from '#rollcall/platform';
import { proxyPostgres, readAll, testDatabase, type TestDatabase } from '#rollcall/platform/testing';
import { type ModelRequest, textOfParts } from '#rollcall/providers';
import { callTool, hangAfter, say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { answers, FakeAgent, hangs } from '../testing/fake.agent.js';
import { TestAgents, type TestRuns, testRuns } from '../testing/test-runs.js';
import { defineTool } from '../tools/define.tool.js';
import type { Tool } from '../tools/tool.js';
import type { Run } from './run.js';
import type { RunsOptions } from './runs.options.js';

const ACTOR = { by: 'key:test', mayManage: false };
const USED = { inputTokens: 10, outputTokens: 5 };
const TOKENS = 15;

let database: TestDatabase;
let agents: TestAgents;
let replicas: TestRuns[];
let executed: string[];
/** The tools `pay` and `look` end when the test opens this gate. */
let gate: PromiseWithResolvers<void>;

beforeEach(async () => {
  database = await testDatabase();
  agents = new TestAgents();
  replicas = [];
  executed = [];
  gate = Promise.withResolvers<void>();
  const tools = [tool('look', true), tool('pay', false)];
  const by = (...steps: string[]) => script(steps);
  agents.defined.set('looker', { script: by('look', 'look', 'done'), tools });
  agents.defined.set('payer', { script: by('pay', 'done'), tools });
  agents.defined.set('thinker', { script: by('look', 'hang', 'done'), tools });
  agents.defined.set('boss', { script: by('delegate looker', 'done'), tools });
  agents.defined.set('manager', { script: by('delegate payer', 'done'), tools });
  agents.defined.set('asker', { script: by('ask', 'done'), tools, options: { mayAsk: true } });
});
afterEach(async () => {
  gate.resolve();
  await Promise.all(replicas.map(async (one) => await one.stop()));
  await database.drop();
});

function tool(name: string, idempotent: boolean): Tool {
  return defineTool({
    name,
    description: 'Works.',
    idempotent,
    execute: async () => {
      executed.push(name);
      await gate.promise;
      return 'worked';
    },
  });
}

/** The model makes the next of these steps after each of its replies. It hangs only in the first call that gets there. */
function script(steps: readonly string[]): (request: ModelRequest, call: number) => ReturnType<typeof say> {
  let hasHung = false;
  return ({ messages }) => {
    const at = messages.filter(({ role }) => role === 'assistant').length;
    const [step = 'done', target] = (steps[at] ?? 'done').split(' ');
    if (step === 'done') return using(USED, say('done'));
    if (step === 'ask') return using(USED, callTool('ask_caller', { question: 'Which one?' }, `c${at}`));
    if (step === 'delegate')
      return using(USED, callTool('delegate_to_agent', { agent: target, task: 'Do it.' }, `c${at}`));
    if (step !== 'hang') return using(USED, callTool(step, {}, `c${at}`));
    if (hasHung) return using(USED, say('woke up'));
    hasHung = true;
    return hangAfter('hm');
  };
}

async function replica(options: Partial<RunsOptions> = {}, db: Database = database.db): Promise<TestRuns> {
  const made = await testRuns(db, agents, { leaseMs: 60_000, ...options });
  replicas.push(made);
  made.start();
  return made;
}

async function ended(on: TestRuns, { id }: Run): Promise<Run> {
  return await on.reader.get({ namespace: 'default', id }, 20_000);
}

async function stepsOf(on: TestRuns, { id }: Run): Promise<string[]> {
  const steps = await on.reader.steps({ namespace: 'default', id }, 0, 100);
  expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_, index) => index + 1));
  return steps.map(({ step }) => step.type);
}

async function budgetOf(on: TestRuns, { id }: Run): Promise<{ used: number; held: number }> {
  const [reading] = await on.budgets.of('run', id);
  return { used: reading?.budget.used.tokens ?? -1, held: reading?.budget.reserved.tokens ?? -1 };
}

async function typesOf(on: TestRuns): Promise<string[]> {
  return (await readAll(on.events)).filter(({ type }) => type.startsWith('run.')).map(({ type }) => type);
}

/** The lease of a replica that does not work any more ends. */
async function endLeases(): Promise<void> {
  await database.db.query(
    `UPDATE run SET lease_until = clock_timestamp() - interval '1 second' WHERE lease_token IS NOT NULL`,
  );
}

describe('a durable run', () => {
  it('B6 is executed, and has steps, a result, the exact usage and its events', async () => {
    gate.resolve();
    const one = await replica();
    const run = await one.run('looker');
    expect(run).toMatchObject({ state: 'queued', agentId: 'looker', definition: { name: 'looker', revision: 1 } });
    const done = await ended(one, run);
    expect(done).toMatchObject({ state: 'completed', attempts: 1, usage: { inputTokens: 30, outputTokens: 15 } });
    expect(textOfParts(done.result?.parts ?? [])).toBe('done');
    const turn = ['model-replied', 'tool-called', 'tool-finished'];
    expect(await stepsOf(one, run)).toEqual(['message', ...turn, ...turn, 'model-replied']);
    expect(await budgetOf(one, run)).toEqual({ used: 3 * TOKENS, held: 0 });
    await until('all events are in the log', async () => (await typesOf(one)).length === 3);
    expect(await typesOf(one)).toEqual(['run.queued', 'run.started', 'run.finished']);
  });

  it('B6 is claimed by one replica only, within the limits of each', async () => {
    const limits = { maxRunning: 5, maxRunningPerAgent: 3 };
    const both = [await replica(limits), await replica(limits, await database.connectAgain())];
    const started = [];
    for (let index = 0; index < 6; index += 1) started.push(await both[0]!.run('looker'), await both[1]!.run('payer'));
    await until('both replicas are full', () => both.every(({ workers }) => workers.held.length === 5));
    const held = await database.db.query<{ agent: string; runs: number }>(
      `SELECT agent_id AS agent, count(*)::int AS runs FROM run WHERE state = 'running' GROUP BY 1, lease_owner`,
    );
    expect(held.every(({ runs }) => runs <= 3)).toBe(true);
    gate.resolve();
    for (const run of started) expect(await ended(both[0]!, run)).toMatchObject({ state: 'completed', attempts: 1 });
    expect([agents.callsOf('looker'), agents.callsOf('payer')]).toEqual([18, 12]);
  });

  it('B6 continues on another replica from its last step; the late writes of the first one have no effect', async () => {
    gate.resolve();
    const { proxy, url } = await proxyPostgres(database.url);
    const first = await replica({}, await database.connectAgain({ url, operationTimeoutMs: 500 }));
    const run = await first.run('thinker');
    await until('the second model call is in progress', () => agents.callsOf('thinker') === 2);
    proxy.cut();
    await endLeases();
    const second = await replica();
    const done = await ended(second, run);
    expect(done).toMatchObject({ state: 'completed', attempts: 2 });
    expect(agents.callsOf('thinker')).toBe(3); // the first reply was not requested again
    const steps = await stepsOf(second, run);
    proxy.heal();
    await until('the first replica has stopped its worker', () => first.workers.held.length === 0, 20_000);
    expect(await stepsOf(second, run)).toEqual(steps);
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    await first.stop();
    replicas.shift();
    await proxy.stop();
  });

  it('B6 stores a step when Postgres is reachable again, if its lease is still valid', async () => {
    const { proxy, url } = await proxyPostgres(database.url);
    const one = await replica({}, await database.connectAgain({ url, operationTimeoutMs: 500 }));
    const run = await one.run('payer');
    await until('the tool works', () => executed.length === 1);
    proxy.cut();
    gate.resolve();
    await until('a write has failed', () => one.events.faults.length > 0, 20_000);
    proxy.heal();
    const watcher = await replica({ maxRunning: 0 });
    expect(await ended(watcher, run)).toMatchObject({ state: 'completed' });
    expect(executed).toEqual(['pay']);
    await one.stop();
    replicas.shift();
    await proxy.stop();
  });

  it('B6 waits for a review if it was interrupted in a tool call that is not idempotent; an operator decides', async () => {
    const first = await replica({}, await database.connectAgain());
    const runs = [await first.run('payer'), await first.run('payer')];
    await until('both tools work', () => executed.length === 2);
    await endLeases();
    const second = await replica();
    const waiting = await Promise.all(runs.map(async (run) => await ended(second, run)));
    for (const one of waiting) expect(one).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const [pending] = waiting[0]?.result?.approvals ?? [];
    expect(pending).toMatchObject({ callId: 'c0', tool: 'pay' });
    const decision = { callId: 'c0', inputHash: pending?.inputHash ?? '', approved: true };
    const key = ({ id }: Run): { namespace: string; id: string } => ({ namespace: 'default', id });
    await expect(second.runs.approve(key(runs[0]!), { ...decision, inputHash: 'other' }, ACTOR)).rejects.toMatchObject({
      code: 'RUN_DECISION_MISMATCH',
    });
    await second.runs.approve(key(runs[0]!), { ...decision, output: 'it had worked' }, ACTOR);
    gate.resolve();
    await second.runs.approve(key(runs[1]!), decision, ACTOR);
    for (const run of runs) expect(await ended(second, run)).toMatchObject({ state: 'completed' });
    expect(executed).toEqual(['pay', 'pay', 'pay']);
  });

  it('B6 hands its runs over when the replica stops: a tool in progress ends first, and is not repeated', async () => {
    const first = await replica({}, await database.connectAgain());
    const run = await first.run('payer');
    await until('the tool works', () => executed.length === 1);
    const second = await replica();
    const stopped = first.stop();
    replicas.shift();
    gate.resolve();
    await stopped;
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    expect([executed, agents.callsOf('payer')]).toEqual([['pay'], 2]);
  });

  it('B6 asks its caller, and continues with the answer', async () => {
    const one = await replica();
    const run = await one.run('asker');
    expect(await ended(one, run)).toMatchObject({ state: 'waiting', waitingFor: 'input' });
    const key = { namespace: 'default', id: run.id };
    await one.runs.continue(key, [{ type: 'text', text: 'The second.' }], ACTOR);
    expect(await ended(one, run)).toMatchObject({ state: 'completed' });
    const again = one.runs.continue(key, [{ type: 'text', text: 'More.' }], ACTOR);
    await expect(again).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    expect(await budgetOf(one, run)).toEqual({ used: 2 * TOKENS, held: 0 });
  });

  it('B6 is stopped at its deadline while it waits, and deleted with its steps after its retention', async () => {
    const one = await replica({ keepMs: 60_000 });
    const run = await one.run('asker');
    await ended(one, run);
    expect([await one.sweeper.expire(), await one.sweeper.prune()]).toEqual([0, 0]);
    await database.db.query(`UPDATE run SET deadline = clock_timestamp() - interval '1 second'`);
    expect(await one.sweeper.expire()).toBe(1);
    expect(await ended(one, run)).toMatchObject({ state: 'stopped', result: { reason: 'deadline' } });
    expect(await one.sweeper.prune()).toBe(0);
    await database.db.query(`UPDATE run SET finished_at = clock_timestamp() - interval '2 minutes'`);
    expect(await one.sweeper.prune()).toBe(1);
    expect(await database.db.query('SELECT 1 FROM run UNION ALL SELECT 1 FROM run_step')).toEqual([]);
  });

  it('B6 is rejected before it exists if its budget is used up', async () => {
    const one = await replica();
    await expect(one.run('looker', 'Begin.', 0)).rejects.toMatchObject({ code: 'SPENDING_LIMIT_REACHED' });
    expect(await one.reader.list({ namespace: 'default' }, 10)).toEqual([]);
  });
});

describe('a cancelled run', () => {
  it.each([
    ['a model call', 'thinker', () => agents.callsOf('thinker') === 2],
    ['a tool call', 'payer', () => executed.length === 1],
    ["a child's tool call", 'manager', () => executed.length === 1],
  ])('B6 during %s gets no later step, holds no budget and stays cancelled', async (_name, agent, isReached) => {
    if (agent === 'thinker') gate.resolve();
    const [one, other] = [await replica({ maxRunning: 0 }), await replica({}, await database.connectAgain())];
    const run = await other.run(agent);
    await until('the call is in progress', isReached);
    const cancelled = await one.runs.cancel({ namespace: 'default', id: run.id }, ACTOR);
    expect(cancelled).toMatchObject({ state: 'cancelled' });
    const tree = await one.reader.list({ namespace: 'default', rootId: run.id }, 10);
    expect(tree.map(({ state }) => state)).toEqual(tree.map(() => 'cancelled'));
    expect(tree).toHaveLength(agent === 'manager' ? 2 : 1);
    const steps = await stepsOf(one, run);
    await until('the execution has ended', () => other.workers.held.length === 0, 5_000);
    gate.resolve();
    await until('nothing is held', async () => (await budgetOf(one, run)).held === 0, 5_000);
    expect(await stepsOf(one, run)).toEqual(steps);
    expect(await one.runs.cancel({ namespace: 'default', id: run.id }, ACTOR)).toMatchObject({ state: 'cancelled' });
    expect(await ended(one, run)).toMatchObject({ state: 'cancelled' });
  });

  it('B6 only its owner or an operator cancels a run, and a finished run cannot be cancelled', async () => {
    gate.resolve();
    const one = await replica();
    const run = await one.run('looker');
    const key = { namespace: 'default', id: run.id };
    await expect(one.runs.cancel(key, { by: 'key:other', mayManage: false })).rejects.toMatchObject({
      code: 'RUN_FOREIGN',
    });
    await expect(one.runs.cancel({ ...key, namespace: 'team' }, ACTOR)).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
    await ended(one, run);
    await expect(one.runs.cancel(key, ACTOR)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    const retried = await one.runs.retry(key, ACTOR);
    expect(await ended(one, retried)).toMatchObject({ state: 'completed', retryOf: run.id });
  });
});

describe('a tree of runs', () => {
  it('B6 S2.4 has a row for each delegated run, with its steps and its usage', async () => {
    gate.resolve();
    const one = await replica();
    const run = await one.run('boss');
    expect(await ended(one, run)).toMatchObject({ state: 'completed' });
    const tree = await one.reader.tree({ namespace: 'default', id: run.id });
    expect(tree).toMatchObject({
      subtree: { tokens: 5 * TOKENS },
      children: [{ run: { agentId: 'looker', state: 'completed', depth: 1 }, subtree: { tokens: 3 * TOKENS } }],
    });
    const exported = await one.reader.export({ namespace: 'default', id: run.id });
    expect(exported.children[0]?.steps.at(-1)?.step.type).toBe('finished');
    const child = { namespace: 'default', id: tree.children[0]?.run.id ?? '' };
    await expect(one.runs.cancel(child, { ...ACTOR, mayManage: true })).rejects.toMatchObject({
      code: 'RUN_DELEGATED',
    });
  });

  it('B6 S2.4 continues a delegated run from its own steps when another replica takes the root over', async () => {
    const first = await replica({}, await database.connectAgain());
    const run = await first.run('boss');
    await until("the child's tool works", () => executed.length === 1);
    await endLeases();
    const second = await replica();
    await until('the second replica executes it', () => executed.length === 2);
    gate.resolve();
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    expect([agents.callsOf('boss'), agents.callsOf('looker')]).toEqual([2, 3]);
    expect((await budgetOf(second, run)).used).toBe(5 * TOKENS);
  });
});

describe('a run of an agent with its own loop', () => {
  it('B6 has the same record and the same payment', async () => {
    agents.foreign.set('remote', () => new FakeAgent('remote', () => answers('from afar', USED), 'api'));
    const one = await replica();
    const run = await one.run('remote');
    const done = await ended(one, run);
    expect(done).toMatchObject({ state: 'completed', usage: USED });
    expect(await stepsOf(one, run)).toEqual(['message', 'agent-called', 'finished']);
    expect(await budgetOf(one, run)).toEqual({ used: TOKENS, held: 0 });
  });

  it('B6 is not repeated blindly after an interruption', async () => {
    const made: FakeAgent[] = [];
    agents.foreign.set('remote', () => {
      const isFirst = made.length === 0;
      const agent = new FakeAgent('remote', (_text, options) => (isFirst ? hangs(options) : answers('again')), 'api');
      made.push(agent);
      return agent;
    });
    const first = await replica({}, await database.connectAgain());
    const run = await first.run('remote');
    await until('the agent works', () => made[0]?.calls.length === 1);
    await endLeases();
    const second = await replica();
    const waiting = await ended(second, run);
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const [pending] = waiting.result?.approvals ?? [];
    const decision = { callId: run.id, inputHash: pending?.inputHash ?? '', approved: true };
    await second.runs.approve({ namespace: 'default', id: run.id }, decision, ACTOR);
    expect(await ended(second, run)).toMatchObject({ state: 'completed' });
  });
});

describe('the feed of a run', () => {
  it('B6 yields each step once on any replica, live text, and the end', async () => {
    agents.defined.set('talker', { script: () => ({ ...using(USED, say('one two three')), delayMs: 300 }) });
    const [one, other] = [await replica(), await replica({ maxRunning: 0 }, await database.connectAgain())];
    const run = await one.run('talker');
    const seen: string[] = [];
    const signal = new AbortController().signal;
    for await (const event of other.feed.watch({ namespace: 'default', id: run.id }, 0, signal)) {
      if (event.type === 'step') seen.push(`step ${event.stored.seq}`);
      else if (event.type === 'state') seen.push(event.run.state);
      else seen.push(event.type);
    }
    expect(seen.filter((one) => one.startsWith('step'))).toEqual(['step 1', 'step 2']);
    expect(seen.at(-1)).toBe('completed');
    const rest = [];
    for await (const event of one.feed.watch({ namespace: 'default', id: run.id }, 1, signal)) rest.push(event.type);
    expect(rest).toEqual(['step', 'state']);
  });
});
