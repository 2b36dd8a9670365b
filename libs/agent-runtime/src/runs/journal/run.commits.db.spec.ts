import { proxyPostgres } from '#rollcall/platform/testing';
import type { LedgerOp } from '#rollcall/registry';
import { until } from '#rollcall/test-support';
import { budgetOf, chargesOf, ended, keyOf, RunsWorld, stepsOf, TOKENS } from '../../testing/runs.world.js';
import type { TestRuns } from '../../testing/test-runs.js';
import type { Run } from '../run.js';
import type { RunWrite } from '../store/run-commit.store.js';
import type { RunWritten } from './run.commits.js';

const ACTOR = { by: 'key:test', mayManage: false };

let world: RunsWorld;
beforeEach(async () => void (world = await RunsWorld.create()));
afterEach(async () => await world.end());

describe('a write of a run', () => {
  let replica: TestRuns;
  let run: Run;
  beforeEach(async () => {
    replica = await world.replica();
    run = await running('looker');
  });

  /** A run that hangs in its first tool call, so that the test can write. */
  async function running(definition: string, tokens?: number): Promise<Run> {
    const before = world.executed.length;
    const started = await replica.run(definition, 'Begin.', tokens);
    await until('a tool is called', () => world.executed.length > before);
    return started;
  }

  async function writeOf(of: Run, more: Partial<RunWrite> = {}): Promise<RunWrite> {
    const [row] = await world.database.db.query<{ token: string; seq: number }>(
      `SELECT r.lease_token AS token, max(s.seq)::int AS seq FROM run r JOIN run_step s ON s.run_id = r.id
       WHERE r.id = $1 GROUP BY 1`,
      [of.id],
    );
    const step = { type: 'tool-finished' as const, turn: 1, callId: 'c0', name: 'look', output: 'worked' };
    const steps = [{ seq: (row?.seq ?? 0) + 1, step }];
    return { fence: { rootId: of.id, token: row?.token ?? '' }, run: of, steps, ops: [], ...more };
  }

  const reserve = ({ id }: Run, tokens: number): LedgerOp => ({
    op: 'reserve',
    request: {
      owner: 'system:runtime',
      key: `${id}/test`,
      scopes: { agentId: null, callerId: null, runId: id },
      amount: { tokens, microUsd: 0 },
      ttlMs: 60_000,
    },
  });

  const stored = async ({ id }: Run): Promise<{ steps: number; reservations: number }> => {
    const [row] = await world.database.db.query<{ steps: number; reservations: number }>(
      `SELECT (SELECT count(*)::int FROM run_step WHERE run_id = $1) AS steps,
         (SELECT count(*)::int FROM budget_reservation WHERE key = $1 || '/test') AS reservations`,
      [id],
    );
    return row ?? { steps: -1, reservations: -1 };
  };

  it('R-1 stores its steps and applies its operations together', async () => {
    const before = await stored(run);
    const written = await replica.commits.write(await writeOf(run, { ops: [reserve(run, 10)] }));
    expect(written).toMatchObject({ state: 'stored', outcomes: [{ ok: true, reservation: { state: 'held' } }] });
    expect(await stored(run)).toEqual({ steps: before.steps + 1, reservations: 1 });
  });

  it('R-1 has no effect after its lease is lost, neither on the steps nor on the budgets', async () => {
    const before = await stored(run);
    const write = await writeOf(run, { ops: [reserve(run, 10)] });
    const fence = { ...write.fence, token: crypto.randomUUID() };
    expect(await replica.commits.write({ ...write, fence })).toEqual({ state: 'fenced' });
    expect(await stored(run)).toEqual(before);
  });

  it('R-1 a step that begins a call is stored only if its reservation is granted, the steps before it in any case', async () => {
    const limited = await running('looker', 3_000);
    const before = await stored(limited);
    const write = await writeOf(limited, { ops: [reserve(limited, 2_000)] });
    const begins = { seq: (write.steps[0]?.seq ?? 0) + 1, step: { type: 'agent-called' as const, idempotent: true } };
    const written = await replica.commits.write({ ...write, begins });
    expect(written).toMatchObject({ outcomes: [{ ok: false, error: { code: 'BUDGET_EXHAUSTED' } }] });
    expect(await stored(limited)).toEqual({ steps: before.steps + 1, reservations: 0 });
  });

  it('R-1 one that cannot be stored fails alone, and the others of its batch are stored', async () => {
    const runs = [run, await running('looker'), await running('looker')];
    const before = await Promise.all(runs.map(stored));
    const writes = await Promise.all(runs.map(async (one) => await writeOf(one, { ops: [reserve(one, 10)] })));
    const [first, poisoned, last] = writes;
    if (!first || !poisoned || !last) throw new Error('three writes');
    const tooLarge = poisoned.steps.map(({ step }) => ({ seq: 2 ** 40, step }));
    const all = [first, { ...poisoned, steps: tooLarge }, last];
    const written = await Promise.all(all.map(async (one): Promise<RunWritten> => await replica.commits.write(one)));
    expect(written.map(({ state }) => state)).toEqual(['stored', 'failed', 'stored']);
    const after = await Promise.all(runs.map(stored));
    expect(after.map(({ steps, reservations }, index) => [steps - (before[index]?.steps ?? 0), reservations])).toEqual([
      [1, 1],
      [0, 0],
      [1, 1],
    ]);
  });

  it('R-1 is committed completely or not at all if the connection is lost during a batch', async () => {
    const { proxy, url } = await proxyPostgres(world.database.url);
    const other = await world.replica({}, await world.database.connectAgain({ url, operationTimeoutMs: 500 }));
    const runs = [run, await running('looker'), await running('looker')];
    const before = await Promise.all(runs.map(stored));
    const writes = await Promise.all(runs.map(async (one) => await writeOf(one, { ops: [reserve(one, 10)] })));
    const written = writes.map(async (one) => await other.commits.write(one));
    setImmediate(() => proxy.cut());
    const states = (await Promise.all(written)).map(({ state }) => state);
    proxy.heal();
    for (const [index, one] of runs.entries()) {
      const after = await stored(one);
      expect(after.reservations).toBe(after.steps - (before[index]?.steps ?? 0));
      if (states[index] === 'stored') expect(after.reservations).toBe(1);
      expect(await replica.commits.write(writes[index])).toMatchObject({ state: 'stored' });
      expect(await stored(one)).toEqual({ steps: (before[index]?.steps ?? 0) + 1, reservations: 1 });
    }
    await world.stop(other);
    await proxy.stop();
  });
});

/** Calls `act` before or after the write with this number, and returns the number of writes so far. */
function atWrite({ commits }: TestRuns, at: number, when: 'before' | 'after', act: () => unknown): () => number {
  const write = commits.write.bind(commits);
  let count = 0;
  commits.write = async (one) => {
    count += 1;
    const isThis = count === at;
    if (isThis && when === 'before') await act();
    const written = await write(one);
    if (isThis && when === 'after') await act();
    return written;
  };
  return () => count;
}

/** The writes of a run of `looker`: reserve; reply and call; result; reply and call; result; reply and end. */
const WRITES = 6;
const POINTS = Array.from({ length: WRITES }, (_, index) => index + 1).flatMap(
  (at) =>
    [
      [at, 'before'],
      [at, 'after'],
    ] as const,
);

describe('a run', () => {
  it.each(POINTS)(
    'B6 R-1 whose replica dies at commit %d (%s it) is completed by another one, and charged once',
    async (at, when) => {
      world.gate.resolve();
      const { proxy, url } = await proxyPostgres(world.database.url);
      const first = await world.replica({}, await world.database.connectAgain({ url, operationTimeoutMs: 500 }));
      const died = Promise.withResolvers<void>();
      atWrite(first, at, when, () => {
        proxy.cut();
        died.resolve();
      });
      const run = await first.run('looker');
      await died.promise;
      await world.endLeases();
      const second = await world.replica();
      const done = await ended(second, run);
      expect(done.state).toBe('completed');
      const turn = ['model-replied', 'tool-called', 'tool-finished'];
      expect(await stepsOf(second, run)).toEqual(['message', ...turn, ...turn, 'model-replied']);
      expect(await budgetOf(second, run)).toEqual({ used: 3 * TOKENS, held: 0 });
      proxy.heal();
      await world.stop(first);
      await proxy.stop();
      expect(await budgetOf(second, run)).toEqual({ used: 3 * TOKENS, held: 0 });
    },
  );

  it.each(POINTS)(
    'B6 R-1 that is cancelled at commit %d (%s it) is charged for what it used, and nothing stays reserved',
    async (at, when) => {
      world.gate.resolve();
      const replica = await world.replica();
      const cancelled = Promise.withResolvers<void>();
      let run: Run | undefined;
      atWrite(replica, at, when, async () => {
        await until('the run is known', () => run !== undefined);
        if (run) await replica.runs.cancel(keyOf(run), ACTOR).catch(() => undefined); // it may have ended
        cancelled.resolve();
      });
      run = await replica.run('looker');
      await cancelled.promise;
      const done = await ended(replica, run);
      const isEnded = at === WRITES && when === 'after';
      expect(done.state).toBe(isEnded ? 'completed' : 'cancelled');
      const started = run;
      await until('nothing is reserved', async () => (await budgetOf(replica, started)).held === 0);
      const { usage, ledger } = await chargesOf(replica, started);
      expect(usage).toBe(ledger);
      const replies = (await stepsOf(replica, started)).filter((type) => type === 'model-replied').length;
      expect(ledger).toBeGreaterThanOrEqual(replies * TOKENS);
    },
  );
});
