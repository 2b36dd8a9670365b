import { proxyPostgres } from '#rollcall/platform/testing';
import { say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { answers, FakeAgent, hangs } from '../../testing/fake.agent.js';
import {
  budgetOf,
  chargesOf,
  ended,
  keyOf,
  RunsWorld,
  stepsOf,
  TOKENS,
  USED,
  wholeExport,
} from '../../testing/runs.world.js';
import type { TestRuns } from '../../testing/test-runs.js';
import type { Run } from '../run.js';

/** What is reserved for a call of an agent with its own loop. */
const CALL_TOKENS = 32_000;
const ACTOR = { by: 'key:test', mayManage: false };

let world: RunsWorld;
beforeEach(async () => void (world = await RunsWorld.create()));
afterEach(async () => await world.end());

describe('a tree of runs', () => {
  it('B6 S2.4 has a row for each delegated run, with its steps and its usage', async () => {
    world.gate.resolve();
    const one = await world.replica();
    const run = await one.run('boss');
    expect(await ended(one, run)).toMatchObject({ state: 'completed' });
    const tree = await one.reader.tree(keyOf(run));
    expect(tree).toMatchObject({
      subtree: { tokens: 5 * TOKENS },
      children: [{ run: { agentId: 'looker', state: 'completed', depth: 1 }, subtree: { tokens: 3 * TOKENS } }],
    });
    const exported = await wholeExport(one, run);
    expect(exported.children[0]?.steps.at(-1)?.step.type).toBe('finished');
    const child = { namespace: 'default', id: tree.children[0]?.run.id ?? '' };
    await expect(one.runs.cancel(child, { ...ACTOR, mayManage: true })).rejects.toMatchObject({
      code: 'RUN_DELEGATED',
    });
  });

  it('B6 S2.4 records the definition of a delegated run', async () => {
    world.agents.plain.add('clerk');
    world.define('caller', 'delegate clerk', 'done');
    const one = await world.replica();
    const run = await one.run('caller');
    await ended(one, run);
    const { children } = await one.reader.tree(keyOf(run));
    expect(children).toMatchObject([{ run: { agentId: 'clerk', definition: { name: 'clerk', revision: 1 } } }]);
  });

  it('B6 S2.4 continues a delegated run from its own steps when another replica takes the root over', async () => {
    const first = await world.replica();
    const run = await first.run('boss');
    await until("the child's tool works", () => world.executed.length === 1);
    await world.endLeases();
    const second = await world.replica();
    await until('the second replica executes it', () => world.executed.length === 2);
    world.gate.resolve();
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    expect([world.agents.callsOf('boss'), world.agents.callsOf('looker')]).toEqual([2, 3]);
    expect((await budgetOf(second, run)).used).toBe(5 * TOKENS);
  });
});

describe('a delegated run that was interrupted in a call that is not idempotent', () => {
  it('B6 S2.4 makes its root wait for a review, and continues after the decision', async () => {
    const first = await world.replica();
    const run = await first.run('manager');
    await until("the child's tool works", () => world.executed.length === 1);
    await world.endLeases();
    const second = await world.replica();
    const waiting = await ended(second, run);
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const [pending] = waiting.result?.approvals ?? [];
    const before = await second.reader.tree(keyOf(run));
    expect(before.children).toMatchObject([{ run: { id: pending?.runId, agentId: 'payer', state: 'running' } }]);
    expect((await budgetOf(second, run)).held).toBe(0);
    const call = { callId: pending?.callId ?? '', inputHash: pending?.inputHash ?? '' };
    await second.runs.approve(keyOf(run), { ...call, approved: true, output: 'it had worked' }, ACTOR);
    expect(await ended(second, run)).toMatchObject({ state: 'completed' });
    const after = await second.reader.tree(keyOf(run));
    expect(after).toMatchObject({ subtree: { tokens: 4 * TOKENS }, children: [{ run: { state: 'completed' } }] });
    expect(world.executed).toEqual(['pay']);
  });

  it('B6 S2.4 is stopped together with its root at the deadline of the root', async () => {
    const first = await world.replica();
    const run = await first.run('manager');
    await until("the child's tool works", () => world.executed.length === 1);
    await world.endLeases();
    const second = await world.replica();
    await ended(second, run);
    await world.database.db.query(`UPDATE run SET deadline = clock_timestamp() - interval '1 second'`);
    await second.sweeper.expire();
    const tree = await second.reader.list({ namespace: 'default', rootId: run.id }, 10);
    expect(tree).toHaveLength(2);
    for (const each of tree) expect(each).toMatchObject({ state: 'stopped', resultPreview: { reason: 'deadline' } });
  });
});

describe('a run of an agent with its own loop', () => {
  it('B6 is recorded and charged like any other run', async () => {
    world.agents.external.set('remote', () => new FakeAgent('remote', () => answers('from afar', USED), 'api'));
    const one = await world.replica();
    const run = await one.run('remote');
    const done = await ended(one, run);
    expect(done).toMatchObject({ state: 'completed', usage: USED });
    expect(await stepsOf(one, run)).toEqual(['message', 'agent-called', 'finished']);
    expect(await budgetOf(one, run)).toEqual({ used: TOKENS, held: 0 });
  });

  it('B6 is repeated after an interruption only with an approval, and the interrupted call costs the reserved amount', async () => {
    const made: FakeAgent[] = [];
    world.agents.external.set('remote', () => {
      const isFirst = made.length === 0;
      const answer = (): ReturnType<typeof answers> => answers('again', USED);
      made.push(new FakeAgent('remote', (_text, options) => (isFirst ? hangs(options) : answer()), 'api'));
      return made.at(-1) ?? new FakeAgent('remote', answer, 'api');
    });
    const first = await world.replica();
    const runs = [await first.run('remote'), await first.run('remote')];
    await until('the agent works', () => made[0]?.calls.length === 2);
    await world.endLeases();
    const second = await world.replica();
    for (const [index, run] of runs.entries()) {
      const waiting = await ended(second, run);
      expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
      expect(await budgetOf(second, run)).toEqual({ used: CALL_TOKENS, held: 0 });
      const [pending] = waiting.result?.approvals ?? [];
      const decision = { callId: run.id, inputHash: pending?.inputHash ?? '', approved: index === 0 };
      await second.runs.approve(keyOf(run), decision, ACTOR);
    }
    expect(await ended(second, runs[0])).toMatchObject({ state: 'completed' });
    expect(await budgetOf(second, runs[0])).toEqual({ used: CALL_TOKENS + TOKENS, held: 0 });
    const rejected = await ended(second, runs[1]);
    expect(rejected).toMatchObject({ state: 'stopped', result: { reason: 'rejected' } });
    expect(rejected.usage).toEqual({ estimatedTokens: CALL_TOKENS });
    expect(await budgetOf(second, runs[1])).toEqual({ used: CALL_TOKENS, held: 0 });
  });

  it('B6 is charged the reserved amount for an interrupted call if it is cancelled before another replica takes it over', async () => {
    world.agents.external.set('remote', () => new FakeAgent('remote', (_text, options) => hangs(options), 'api'));
    const { proxy, url } = await proxyPostgres(world.database.url);
    const first = await world.replica({}, await world.database.connectAgain({ url, operationTimeoutMs: 500 }));
    const run = await first.run('remote');
    await until('the call is paid', async () => (await budgetOf(first, run)).held === CALL_TOKENS);
    proxy.cut();
    const second = await world.replica({ maxRunning: 0 });
    await second.runs.cancel(keyOf(run), ACTOR);
    await world.database.db.query(`UPDATE run SET finished_at = finished_at - interval '1 minute'`);
    expect(await second.settlement.endReservations()).toBe(1);
    expect(await budgetOf(second, run)).toEqual({ used: CALL_TOKENS, held: 0 });
    proxy.heal();
    await world.stop(first);
    await proxy.stop();
  });

  it('B6 is stopped at its deadline, and its call is aborted', async () => {
    const agent = new FakeAgent('remote', (_text, options) => hangs(options), 'api');
    world.agents.external.set('remote', () => agent);
    const one = await world.replica();
    const input = [{ type: 'text' as const, text: 'Begin.' }];
    const request = { namespace: 'default', target: { definition: 'remote' }, input, by: 'key:test' };
    const run = await one.runs.start({ ...request, deadline: Date.now() + 1_500 });
    expect(await ended(one, run)).toMatchObject({ state: 'stopped', result: { reason: 'deadline' } });
    expect(agent.calls.map(({ options }) => options.signal?.aborted)).toEqual([true]);
    expect((await budgetOf(one, run)).held).toBe(0);
  });

  it('B6 S2.4 is charged once if its parent run is interrupted before the parent run has stored the result', async () => {
    world.agents.external.set('remote', () => new FakeAgent('remote', () => answers('from afar', USED), 'api'));
    world.define('caller', 'delegate remote', 'hang', 'done');
    const first = await world.replica();
    const run = await first.run('caller');
    await until('the second model call is in progress', () => world.agents.callsOf('caller') === 2);
    await world.database.db.query(`DELETE FROM run_step WHERE run_id = $1 AND step ->> 'type' = 'tool-finished'`, [
      run.id,
    ]);
    await world.endLeases();
    const second = await world.replica();
    expect(await ended(second, run)).toMatchObject({ state: 'completed' });
    const { children } = await second.reader.tree(keyOf(run));
    expect(children).toMatchObject([{ run: { agentId: 'remote', usage: USED }, subtree: { tokens: TOKENS } }]);
  });
});

describe('the transactions of a run', () => {
  it('B2 B6 are one for a reply with the start of its tools, and one for the last reply, the charges and the end of the run', async () => {
    world.gate.resolve();
    const one = await world.replica();
    const run = await one.run('looker');
    expect(await ended(one, run)).toMatchObject({ state: 'completed' });
    const by = async (sql: string): Promise<string[]> =>
      (await world.database.db.query<{ xmin: string }>(sql, [run.id])).map(({ xmin }) => xmin);
    const [, ...steps] = await by('SELECT xmin::text FROM run_step WHERE run_id = $1 ORDER BY seq');
    const turn = ['model-replied', 'tool-called', 'tool-finished'];
    expect(await stepsOf(one, run)).toEqual(['message', ...turn, ...turn, 'model-replied']);
    expect(new Set(steps).size).toBe(5);
    expect([steps[0], steps[3]]).toEqual([steps[1], steps[4]]);
    const last = steps.at(-1);
    expect(await by('SELECT xmin::text FROM run WHERE id = $1')).toEqual([last]);
    const paid = `SELECT xmin::text FROM budget_reservation WHERE run_id = $1 ORDER BY key`;
    expect(await by(paid)).toEqual([last, last]); // of the calls, and of the final call
    expect(await by(`SELECT xmin::text FROM budget WHERE kind = 'run' AND subject = $1`)).toEqual([last]);
  });
});

describe('a run whose replica is killed in a model call', () => {
  let victim: TestRuns;
  let proxy: Awaited<ReturnType<typeof proxyPostgres>>['proxy'];
  let run: Run;
  /** The name of the reservation that pays both calls, and the amount of one call. */
  let reservation: string;
  let call: number;

  beforeEach(async () => {
    world.gate.resolve();
    const proxied = await proxyPostgres(world.database.url);
    ({ proxy } = proxied);
    const db = await world.database.connectAgain({ url: proxied.url, operationTimeoutMs: 500 });
    victim = await world.replica({}, db);
    run = await victim.run('thinker');
    await until('the second model call is in progress', () => world.agents.callsOf('thinker') === 2);
    [reservation, call] = await reservedFor('calls/');
    proxy.cut();
  });
  afterEach(async () => {
    proxy.heal();
    await world.stop(victim);
    await proxy.stop();
  });

  async function reservedFor(kind: string): Promise<[string, number]> {
    const sql = `SELECT key, held_tokens - ahead_tokens AS call FROM budget_reservation WHERE starts_with(key, $1)`;
    const rows = await world.database.db.query<{ key: string; call: string }>(sql, [`${run.id}/${kind}`]);
    expect(rows).toHaveLength(1);
    return [rows[0]?.key.slice(run.id.length + 1) ?? '', Number(rows[0]?.call)];
  }

  /** Simulates that the replica has stored the reply of the call, but has not charged it. */
  async function storeReply(): Promise<void> {
    const charges = JSON.stringify([{ key: reservation, tokens: TOKENS, microUsd: null }]);
    await world.database.db.query(
      `INSERT INTO run_step (run_id, seq, step) SELECT run_id, (SELECT max(seq) + 1 FROM run_step WHERE run_id = $1),
         jsonb_set(jsonb_set(step::jsonb, '{turn}', '2'), '{charges}', $2::jsonb)
       FROM run_step WHERE run_id = $1 AND step ->> 'type' = 'model-replied'`,
      [run.id, charges],
    );
  }

  it('B2 B6 reserves nothing after it is cancelled, and is charged for the call as on a live replica', async () => {
    const other = await world.replica({ maxRunning: 0 });
    await other.runs.cancel(keyOf(run), ACTOR);
    expect(await other.settlement.endReservations()).toBe(0); // a live replica would charge the call itself
    await world.database.db.query(`UPDATE run SET finished_at = finished_at - interval '1 minute'`);
    expect([await other.settlement.endReservations(), await other.settlement.endReservations()]).toEqual([1, 0]);
    expect(call).toBeGreaterThan(0);
    expect(await budgetOf(other, run)).toEqual({ used: TOKENS + call, held: 0 });
    expect((await ended(other, run)).usage).toMatchObject({ ...USED, estimatedTokens: call });
  });

  it('B2 B6 is charged for a stored reply when it is cancelled', async () => {
    await storeReply();
    const other = await world.replica({ maxRunning: 0 });
    await other.runs.cancel(keyOf(run), ACTOR);
    expect((await budgetOf(other, run)).used).toBe(2 * TOKENS);
    const charged = await chargesOf(other, run);
    expect(charged).toEqual({ usage: 2 * TOKENS, ledger: 2 * TOKENS });
  });

  it('B2 B6 is charged for a stored reply and reserves nothing when it fails on another replica', async () => {
    await storeReply();
    await world.database.db.query('UPDATE run SET crashes = 9');
    await world.endLeases();
    const other = await world.replica();
    const failed = await ended(other, run);
    expect(failed).toMatchObject({ state: 'failed', result: { error: { code: 'RUN_CRASHED' } } });
    expect(failed.usage).toEqual({ inputTokens: 20, outputTokens: 10 });
    expect(await budgetOf(other, run)).toEqual({ used: 2 * TOKENS, held: 0 });
  });
});

describe('the feed of a run', () => {
  it('B6 yields each step once on any replica, live text, and the end', async () => {
    world.agents.defined.set('talker', { script: () => ({ ...using(USED, say('one two three')), delayMs: 300 }) });
    const [one, other] = [await world.replica(), await world.replica({ maxRunning: 0 })];
    const run = await one.run('talker');
    const seen: string[] = [];
    const signal = new AbortController().signal;
    for await (const event of other.feed.watch(keyOf(run), 0, signal)) {
      if (event.type === 'step') seen.push(`step ${event.stored.seq}`);
      else if (event.type === 'state') seen.push(event.run.state);
      else seen.push(event.type);
    }
    expect(seen.filter((text) => text.startsWith('step'))).toEqual(['step 1', 'step 2']);
    expect(seen.at(-1)).toBe('completed');
    const rest = [];
    for await (const event of one.feed.watch(keyOf(run), 1, signal)) rest.push(event.type);
    expect(rest).toEqual(['step', 'state']);
  });
});
