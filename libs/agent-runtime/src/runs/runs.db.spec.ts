import { proxyPostgres, readAll } from '#rollcall/platform/testing';
import { textOfParts } from '#rollcall/providers';
import { say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import {
  budgetOf,
  chargesOf,
  ended,
  keyOf,
  RunsWorld,
  stepsOf,
  TOKENS,
  typesOf,
  USED,
  wholeExport,
} from '../testing/runs.world.js';
import type { TestRuns } from '../testing/test-runs.js';
import { MAX_RESULT_BYTES } from './result.limit.js';
import type { Run } from './run.js';

const ACTOR = { by: 'key:test', mayManage: false };
const OPERATOR = { by: 'key:operator', mayManage: true };
const REQUEST = { namespace: 'default', input: [{ type: 'text' as const, text: 'Begin.' }], by: 'key:test' };

let world: RunsWorld;
beforeEach(async () => void (world = await RunsWorld.create()));
afterEach(async () => await world.end());

describe('a durable run', () => {
  it('B6 is executed, and has steps, a result, the exact usage and its events', async () => {
    world.gate.resolve();
    const one = await world.replica();
    const run = await one.run('looker');
    expect(run).toMatchObject({ agentId: 'looker', definition: { name: 'looker', revision: 1 } });
    expect(['queued', 'running']).toContain(run.state); // running if the replica already knows that no older run waits
    const done = await ended(one, run);
    expect(done).toMatchObject({ state: 'completed', attempts: 1, usage: { inputTokens: 30, outputTokens: 15 } });
    expect(textOfParts(done.result?.parts ?? [])).toBe('done');
    const turn = ['model-replied', 'tool-called', 'tool-finished'];
    expect(await stepsOf(one, run)).toEqual(['message', ...turn, ...turn, 'model-replied']);
    expect(await budgetOf(one, run)).toEqual({ used: 3 * TOKENS, held: 0 });
    await until('all events are in the log', async () => (await typesOf(one)).length === 3);
    expect(await typesOf(one)).toEqual(['run.queued', 'run.started', 'run.finished']);
  });

  it('S-4 an answer of 3 MB is stored as 1 MB with a mark, in the run and in its step', async () => {
    world.agents.defined.set('talker', {
      script: () => using(USED, say('x'.repeat(3 * MAX_RESULT_BYTES))),
      tools: [],
      options: {},
    });
    const one = await world.replica();
    const done = await ended(one, await one.run('talker'));
    const parts = done.result?.parts ?? [];
    expect(Buffer.byteLength(JSON.stringify(parts))).toBeLessThanOrEqual(MAX_RESULT_BYTES);
    expect(parts.at(-1)).toMatchObject({ type: 'data', data: { truncated: true } });
    const reply = (await one.reader.steps(keyOf(done), 1, 100))[0];
    expect(JSON.stringify(reply).length).toBeLessThan(MAX_RESULT_BYTES * 1.01);
    expect(JSON.stringify(reply)).toContain('[truncated: the text had ');
    const [listed] = await one.reader.list({ namespace: 'default' }, 1);
    expect(listed?.resultPreview).toMatchObject({ text: 'x'.repeat(200), parts: 2, truncated: true });
  });

  it('B6 is claimed by only one replica, within the limits of each replica', async () => {
    const limits = { maxRunning: 5, maxRunningPerAgent: 3 };
    const both = [await world.replica(limits), await world.replica(limits)];
    const started = [];
    for (let index = 0; index < 6; index += 1) started.push(await both[0].run('looker'), await both[1].run('payer'));
    await until('both replicas are full', () => both.every(({ workers }) => workers.held.length === 5));
    const held = await world.database.db.query<{ agent: string; runs: number }>(
      `SELECT agent_id AS agent, count(*)::int AS runs FROM run WHERE state = 'running' GROUP BY 1, lease_owner`,
    );
    expect(held.every(({ runs }) => runs <= 3)).toBe(true);
    world.gate.resolve();
    for (const run of started) expect(await ended(both[0], run)).toMatchObject({ state: 'completed', attempts: 1 });
    expect([world.agents.callsOf('looker'), world.agents.callsOf('payer')]).toEqual([18, 12]);
  });

  it('B6 continues on another replica from its last step; the late writes of the first replica have no effect', async () => {
    world.gate.resolve();
    const { proxy, url } = await proxyPostgres(world.database.url);
    const first = await world.replica({}, await world.database.connectAgain({ url, operationTimeoutMs: 500 }));
    const run = await first.run('thinker');
    await until('the second model call is in progress', () => world.agents.callsOf('thinker') === 2);
    proxy.cut();
    await world.endLeases();
    const second = await world.replica();
    const done = await ended(second, run);
    expect(done).toMatchObject({ state: 'completed', attempts: 2 });
    expect(world.agents.callsOf('thinker')).toBe(3); // the first reply was not requested again
    const steps = await stepsOf(second, run);
    proxy.heal();
    await until('the first replica has stopped its worker', () => first.workers.held.length === 0, 20_000);
    expect(await stepsOf(second, run)).toEqual(steps);
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    await world.stop(first);
    await proxy.stop();
  });

  it('B6 fails if it has crashed many replicas', async () => {
    const first = await world.replica();
    const run = await first.run('thinker');
    await until('the model call is in progress', () => world.executed.length === 1);
    await world.database.db.query('UPDATE run SET crashes = 9');
    await world.endLeases();
    const second = await world.replica();
    const failed = await ended(second, run);
    expect(failed).toMatchObject({ state: 'failed', crashes: 10, result: { error: { code: 'RUN_CRASHED' } } });
    expect(failed.result?.error?.message).toContain('10 replicas crashed');
  });

  it('B6 stores a step when Postgres is reachable again, if its lease is still valid', async () => {
    const { proxy, url } = await proxyPostgres(world.database.url);
    const one = await world.replica({}, await world.database.connectAgain({ url, operationTimeoutMs: 500 }));
    const run = await one.run('payer');
    await until('the tool works', () => world.executed.length === 1);
    proxy.cut();
    world.gate.resolve();
    await until('a write has failed', () => one.events.faults.length > 0, 20_000);
    proxy.heal();
    const watcher = await world.replica({ maxRunning: 0 });
    expect(await ended(watcher, run)).toMatchObject({ state: 'completed' });
    expect(world.executed).toEqual(['pay']);
    await world.stop(one);
    await proxy.stop();
  });

  it('B6 waits for the decision of an operator, and rejects messages, if it was interrupted in a tool call that is not idempotent', async () => {
    const first = await world.replica();
    const runs = [await first.run('payer'), await first.run('payer')];
    await until('both tools work', () => world.executed.length === 2);
    await world.endLeases();
    const second = await world.replica();
    const waiting = await Promise.all(runs.map(async (run) => await ended(second, run)));
    for (const one of waiting) expect(one).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const message = second.runs.continue(keyOf(runs[0]), { parts: [{ type: 'text', text: 'Go on.' }] }, ACTOR);
    await expect(message).rejects.toThrow(
      'The run waits for a review of its interrupted calls. It accepts a message only while it waits for a message or an approval.',
    );
    const [pending] = waiting[0]?.result?.approvals ?? [];
    expect(pending).toMatchObject({ callId: 'c0', tool: 'pay' });
    const decision = { callId: 'c0', inputHash: pending?.inputHash ?? '', approved: true };
    const other = second.runs.approve(keyOf(runs[0]), { ...decision, inputHash: 'other' }, ACTOR);
    await expect(other).rejects.toMatchObject({ code: 'RUN_DECISION_MISMATCH' });
    await second.runs.approve(keyOf(runs[0]), { ...decision, output: 'it had worked' }, ACTOR);
    world.gate.resolve();
    const continued = await second.runs.approve(keyOf(runs[1]), decision, ACTOR);
    expect(continued.result).toEqual({ parts: [] });
    for (const run of runs) expect(await ended(second, run)).toMatchObject({ state: 'completed' });
    expect(world.executed).toEqual(['pay', 'pay', 'pay']);
  });

  it('S-9b asks again after an approved call was interrupted, and the first approval does not repeat the call', async () => {
    world.defineApprovals('spender', 'c0');
    const first = await world.replica();
    const run = await first.run('spender');
    const [asked] = (await ended(first, run)).result?.approvals ?? [];
    const approval = { callId: 'c0', inputHash: asked?.inputHash ?? '', approved: true };
    await expect(first.runs.approve(keyOf(run), approval, ACTOR)).rejects.toMatchObject({ code: 'APPROVAL_FORBIDDEN' });
    await first.runs.approve(keyOf(run), approval, OPERATOR);
    await until('the tool works', () => world.executed.length === 1);
    await world.endLeases();
    const second = await world.replica();
    const waiting = await ended(second, run);
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const [review] = waiting.result?.approvals ?? [];
    expect(review).toMatchObject({ callId: 'c0', input: asked?.input, approve: 'operator' });
    expect(review?.inputHash).not.toBe(asked?.inputHash);
    expect(await second.runs.approve(keyOf(run), approval, OPERATOR)).toMatchObject({ state: 'waiting' });
    const repetition = { ...approval, inputHash: review?.inputHash ?? '' };
    await expect(second.runs.approve(keyOf(run), repetition, ACTOR)).rejects.toMatchObject({
      code: 'APPROVAL_FORBIDDEN',
    });
    world.gate.resolve();
    await second.runs.approve(keyOf(run), repetition, OPERATOR);
    expect(await ended(second, run)).toMatchObject({ state: 'completed' });
    expect(world.executed).toEqual(['spend', 'spend']);
  });

  it('B6 accepts decisions about all its calls before a replica continues it, and asks for no decision after it is cancelled', async () => {
    world.gate.resolve();
    world.defineApprovals('spender', 'c0', 'c1');
    const first = await world.replica();
    const [run, other] = [await first.run('spender'), await first.run('spender')];
    const waiting = await ended(first, run);
    await ended(first, other);
    await world.stop(first);
    const idle = await world.replica({ maxRunning: 0 });
    const calls = waiting.result?.approvals ?? [];
    const [one, two] = calls.map(({ callId, inputHash }) => ({ callId, inputHash, approved: true }));
    if (!one || !two) throw new Error('two calls wait');
    await idle.runs.approve(keyOf(run), one, OPERATOR);
    expect(await idle.runs.approve(keyOf(run), one, OPERATOR)).toMatchObject({ id: run.id, state: 'queued' });
    const rejection = { ...one, approved: false };
    const code = 'RUN_DECISION_MISMATCH';
    await expect(idle.runs.approve(keyOf(run), rejection, OPERATOR)).rejects.toMatchObject({ code });
    expect(await idle.runs.approve(keyOf(run), two, OPERATOR)).toMatchObject({
      state: 'queued',
      result: { parts: [] },
    });
    const unknown = { ...two, callId: 'c2' };
    await expect(idle.runs.approve(keyOf(run), unknown, OPERATOR)).rejects.toMatchObject({ code: 'RUN_NOT_WAITING' });
    await world.database.db.query(`UPDATE run SET result = '{"parts":[],"reason":"x","detail":"y"}' WHERE id = $1`, [
      other.id,
    ]);
    expect((await idle.runs.cancel(keyOf(other), OPERATOR)).result).toEqual({ parts: [] });
    const second = await world.replica();
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    expect(await idle.runs.approve(keyOf(run), two, OPERATOR)).toMatchObject({ id: run.id, state: 'completed' });
    await expect(idle.runs.approve(keyOf(run), rejection, OPERATOR)).rejects.toMatchObject({ code });
    expect(world.executed).toEqual(['spend', 'spend']);
  });

  it('B6 is handed over when its replica stops: a tool in progress ends first, and is not repeated', async () => {
    const first = await world.replica();
    const run = await first.run('payer');
    await until('the tool works', () => world.executed.length === 1);
    const second = await world.replica();
    const stopped = world.stop(first);
    world.gate.resolve();
    await stopped;
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    expect([world.executed, world.agents.callsOf('payer')]).toEqual([['pay'], 2]);
  });

  it('B6 asks its caller, and continues with the answer', async () => {
    const one = await world.replica();
    const run = await one.run('asker');
    expect(await ended(one, run)).toMatchObject({ state: 'waiting', waitingFor: 'input' });
    const key = keyOf(run);
    const decision = one.runs.approve(key, { callId: 'c0', inputHash: 'x', approved: true }, ACTOR);
    await expect(decision).rejects.toMatchObject({
      code: 'RUN_NOT_WAITING',
      message: 'The run waits for a message. It accepts a decision only while it waits for an approval or a review.',
      details: { state: 'waiting', waitingFor: 'input' },
    });
    await one.runs.continue(key, { parts: [{ type: 'text', text: 'The second.' }] }, ACTOR);
    expect(await ended(one, run)).toMatchObject({ state: 'completed' });
    const again = one.runs.continue(key, { parts: [{ type: 'text', text: 'More.' }] }, ACTOR);
    await expect(again).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    expect(await budgetOf(one, run)).toEqual({ used: 2 * TOKENS, held: 0 });
  });

  it('B6 is stopped at its deadline while it waits, and deleted with its steps after its retention', async () => {
    const one = await world.replica({ keepMs: 60_000 });
    const run = await one.run('asker');
    await ended(one, run);
    expect([await one.sweeper.expire(), await one.sweeper.prune()]).toEqual([0, 0]);
    await world.database.db.query(`UPDATE run SET deadline = clock_timestamp() - interval '1 second'`);
    expect(await one.sweeper.expire()).toBe(1);
    expect(await ended(one, run)).toMatchObject({ state: 'stopped', result: { reason: 'deadline' } });
    expect(await one.sweeper.prune()).toBe(0);
    await world.database.db.query(`UPDATE run SET finished_at = clock_timestamp() - interval '2 minutes'`);
    expect(await one.sweeper.prune()).toBe(1);
    expect(await world.database.db.query('SELECT 1 FROM run UNION ALL SELECT 1 FROM run_step')).toEqual([]);
  });

  it('B6 is rejected before it is stored if a budget is used up, and no budget is created for it', async () => {
    const one = await world.replica();
    const zero = one.run('looker', 'Begin.', 0);
    await expect(zero).rejects.toMatchObject({
      code: 'SPENDING_LIMIT_REACHED',
      message: 'The budget of the run is 0 tokens. Set a higher budget.',
    });
    const limit = { tokens: null, microUsd: 0 };
    await one.budgets.open({ kind: 'namespace', subject: 'default', limit, by: 'test' });
    await expect(one.run('looker')).rejects.toMatchObject({
      code: 'SPENDING_LIMIT_REACHED',
      message: expect.stringContaining(
        'has 0 of 0 microUsd left, so nothing can be reserved. Top it up with POST /v1/budgets/',
      ) as string,
    });
    expect(await one.reader.list({ namespace: 'default' }, 10)).toEqual([]);
    expect(await one.budgets.list(10, 0, { kind: 'run' })).toEqual([]);
  });

  it('B6 has no budget if it is prepared but not stored', async () => {
    const one = await world.replica();
    await one.runs.prepare({ ...REQUEST, target: { definition: 'looker' } });
    expect(await one.budgets.list(10, 0, { kind: 'run' })).toEqual([]);
  });
});

describe('a run at its deadline', () => {
  it('B6 cannot start: it is rejected with RUN_DEADLINE_PASSED', async () => {
    const one = await world.replica({ maxRunning: 0, now: () => 5_000 });
    const request = { ...REQUEST, target: { definition: 'looker' } };
    const late = one.runs.start({ ...request, deadline: 5_000 });
    await expect(late).rejects.toMatchObject({ code: 'RUN_DEADLINE_PASSED' });
    expect(await one.runs.start({ ...request, deadline: 5_001 })).toMatchObject({ state: 'queued' });
  });

  it.each(['thinker', 'manager'])(
    'B6 is stopped with all descendants, and its usage is what was charged: %s',
    async (agent) => {
      if (agent === 'thinker') world.gate.resolve();
      const one = await world.replica();
      const request = { ...REQUEST, target: { definition: agent }, deadline: Date.now() + 1_500 };
      const run = await one.runs.start(request);
      await ended(one, run);
      const tree = await one.reader.list({ namespace: 'default', rootId: run.id }, 10);
      expect(tree).toHaveLength(agent === 'manager' ? 2 : 1);
      for (const each of tree) expect(each).toMatchObject({ state: 'stopped', resultPreview: { reason: 'deadline' } });
      const charged = await chargesOf(one, run);
      expect(charged.usage).toBe(charged.ledger);
      expect(tree.some(({ usage }) => usage.estimatedTokens !== undefined)).toBe(agent === 'thinker');
    },
  );
});

describe('a cancelled run', () => {
  it.each([
    ['a model call', 'thinker', () => world.agents.callsOf('thinker') === 2],
    ['a tool call', 'payer', () => world.executed.length === 1],
    ["a child's tool call", 'manager', () => world.executed.length === 1],
  ])(
    'B6 gets no later step, holds no budget and stays cancelled if it is cancelled during %s',
    async (_name, agent, isReached) => {
      if (agent === 'thinker') world.gate.resolve();
      const [one, other] = [await world.replica({ maxRunning: 0 }), await world.replica()];
      const run = await other.run(agent);
      await until('the call is in progress', isReached);
      const cancelled = await one.runs.cancel(keyOf(run), ACTOR);
      expect(cancelled).toMatchObject({ state: 'cancelled' });
      const tree = await one.reader.list({ namespace: 'default', rootId: run.id }, 10);
      expect(tree.map(({ state }) => state)).toEqual(tree.map(() => 'cancelled'));
      expect(tree).toHaveLength(agent === 'manager' ? 2 : 1);
      const steps = await stepsOf(one, run);
      await until('the execution has ended', () => other.workers.held.length === 0, 5_000);
      world.gate.resolve();
      await until('nothing is held', async () => (await budgetOf(one, run)).held === 0, 5_000);
      expect(await stepsOf(one, run)).toEqual(steps);
      expect(await one.runs.cancel(keyOf(run), ACTOR)).toMatchObject({ state: 'cancelled' });
      expect(await ended(one, run)).toMatchObject({ state: 'cancelled' });
      const charged = await chargesOf(one, run);
      expect(charged.usage).toBe(charged.ledger);
      expect(cancelled.usage).toMatchObject(USED); // only the replies: an aborted call is charged afterwards
    },
  );

  it('B6 can be cancelled only by its owner or an operator, and only before it is finished', async () => {
    world.gate.resolve();
    const one = await world.replica();
    const run = await one.run('looker');
    const key = keyOf(run);
    await expect(one.runs.cancel(key, { by: 'key:other', mayManage: false })).rejects.toMatchObject({
      code: 'RUN_FOREIGN',
    });
    await expect(one.runs.cancel({ ...key, namespace: 'team' }, ACTOR)).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
    await ended(one, run);
    await expect(one.runs.cancel(key, ACTOR)).rejects.toMatchObject({ code: 'RUN_FINISHED' });
    const retried = await one.runs.insert(await one.runs.prepareRetry(key, ACTOR));
    expect(await ended(one, retried)).toMatchObject({ state: 'completed', retryOf: run.id });
  });
});

describe('a run whose contents are removed', () => {
  async function contents(on: TestRuns, run: Run): Promise<string> {
    return JSON.stringify(await wholeExport(on, run));
  }

  it('B6 keeps its tree, its usage and the kinds of its steps, and cannot be retried', async () => {
    world.gate.resolve();
    const one = await world.replica({ redactAfterMs: 0 });
    const run = await one.run('boss', 'Begin with 1234567890.');
    const done = await ended(one, run);
    const steps = await stepsOf(one, run);
    expect(await contents(one, run)).toContain('1234567890');
    expect(await one.redactor.redact()).toBe(1);
    expect(await one.redactor.redact()).toBe(0);
    const text = await contents(one, run);
    for (const removed of ['1234567890', 'Do it.', 'worked', 'done']) expect(text).not.toContain(removed);
    expect(await one.reader.get(keyOf(run))).toEqual({
      ...done,
      input: [{ type: 'text', text: '[redacted]' }],
      result: { parts: [{ type: 'text', text: '[redacted]' }] },
      redactedAt: expect.any(String) as string,
    });
    expect(await stepsOf(one, run)).toEqual(steps);
    const tree = await one.reader.list({ namespace: 'default', rootId: run.id }, 10);
    expect(tree.map(({ redactedAt }) => redactedAt !== null)).toEqual([true, true]);
    expect(JSON.stringify(tree)).not.toContain('1234567890'); // nor do the previews
    await expect(one.runs.prepareRetry(keyOf(run), ACTOR)).rejects.toMatchObject({ code: 'RUN_REDACTED' });
    expect(JSON.stringify(await readAll(one.events))).not.toContain('1234567890');
  });

  it('B6 is always finished, and the time that its request or the policy of the replica allows has passed', async () => {
    world.gate.resolve();
    const one = await world.replica();
    const request = { ...REQUEST, target: { definition: 'looker' } };
    const requested = await one.runs.start({ ...request, redactAfterMs: 0 });
    const later = await one.runs.start({ ...request, redactAfterMs: 60_000 });
    const waiting = await one.runs.start({ ...request, target: { definition: 'asker' }, redactAfterMs: 0 });
    for (const run of [requested, later, waiting]) await ended(one, run);
    const isRedacted = async (run: Run): Promise<boolean> => (await one.reader.get(keyOf(run))).redactedAt !== null;
    expect(await one.redactor.redact()).toBe(1);
    expect([await isRedacted(requested), await isRedacted(later), await isRedacted(waiting)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await one.runs.insert(await one.runs.prepareRetry(keyOf(later), ACTOR))).toMatchObject({
      redactAfterMs: 60_000,
    });
    const strict = await world.replica({ maxRunning: 0, redactAfterMs: 10_000 });
    expect(await strict.redactor.redact()).toBe(0);
    await world.database.db.query(`UPDATE run SET finished_at = finished_at - interval '11 seconds' WHERE id = $1`, [
      later.id,
    ]);
    expect(await strict.redactor.redact()).toBe(1);
    expect([await isRedacted(later), await isRedacted(waiting)]).toEqual([true, false]);
  });
});
