import { CountingProxy, proxyPostgres } from '#rollcall/platform/testing';
import { say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { budgetOf, ended, keyOf, RunsWorld, TOKENS, typesOf, USED } from '../../testing/runs.world.js';
import type { TestRuns } from '../../testing/test-runs.js';
import type { Run, StartRun } from '../run.js';

const ACTOR = { by: 'key:test', mayManage: true };

let world: RunsWorld;
beforeEach(async () => {
  world = await RunsWorld.create();
  world.agents.defined.set('talker', { script: () => using(USED, say('done')) });
});
afterEach(async () => await world.end());

function request(definition: string, more: Partial<StartRun> = {}): StartRun {
  const input = [{ type: 'text' as const, text: 'Begin.' }];
  return { namespace: 'default', target: { definition }, input, by: 'key:test', ...more };
}

/** A replica whose first claim is done, so it knows that no run waits. */
async function idleReplica(...args: Parameters<RunsWorld['replica']>): Promise<TestRuns> {
  const replica = await world.replica(...args);
  await replica.workers.pass();
  return replica;
}

async function rowOf({ id }: Pick<Run, 'id'>): Promise<Record<string, unknown>> {
  const [row] = await world.database.db.query(
    `SELECT state, attempts, crashes, crashes_in_step, lease_token IS NOT NULL AS leased, started_at IS NOT NULL AS started,
       extract(epoch FROM lease_until - started_at)::float8 AS lease_s FROM run WHERE id = $1`,
    [id],
  );
  return row ?? {};
}

async function addNamespace(name: string): Promise<void> {
  const { db } = world.database;
  await db.query(`INSERT INTO namespace (name, created_by) VALUES ($1, 'test')`, [name]);
  await db.query(
    `INSERT INTO definition (namespace, name, revision)
     SELECT $1, name, revision FROM definition WHERE namespace = 'default'`,
    [name],
  );
  await db.query(
    `INSERT INTO definition_revision (namespace, name, revision, content, hash, source, created_by)
     SELECT $1, name, revision, content, hash, source, created_by FROM definition_revision WHERE namespace = 'default'`,
    [name],
  );
}

describe('the start of a run', () => {
  it('R-1 stores the run with a lease if the replica has room: both events and the claim are one commit of three round trips', async () => {
    const proxy = await CountingProxy.start(world.database.url);
    const one = await idleReplica({}, await world.database.connectAgain({ url: proxy.url }));
    const roundTrips: number[] = [];
    const runs: Run[] = [];
    for (let count = 0; count < 5; count += 1) {
      const prepared = await one.runs.prepare(request('looker'));
      roundTrips.push((await proxy.count(async () => runs.push(await one.runs.insert(prepared)))).roundTrips);
      await until('the tool works', () => world.executed.length === runs.length);
      await until('the events are in the log', async () => (await typesOf(one)).length === 2 * runs.length);
    }
    expect(Math.min(...roundTrips)).toBe(3); // some starts coincide with work in the background
    for (const run of runs) {
      expect(run).toMatchObject({ state: 'running', attempts: 1 });
      expect(await rowOf(run)).toMatchObject({
        state: 'running',
        attempts: 1,
        crashes: 0,
        leased: true,
        started: true,
      });
    }
    expect(await typesOf(one)).toEqual(Array.from({ length: 5 }, () => ['run.queued', 'run.started']).flat());
    world.gate.resolve();
    for (const run of runs) expect(await ended(one, run)).toMatchObject({ state: 'completed', attempts: 1 });
    await world.stop(one);
    proxy.stop();
  });

  it('R-1 sets the same lease as a claim', async () => {
    const one = await idleReplica({ leaseMs: 30_000 });
    const started = await one.run('looker');
    const idle = await world.replica({ maxRunning: 0 });
    const queued = await idle.run('looker');
    expect(queued).toMatchObject({ state: 'queued', attempts: 0 });
    await until('the queued run is claimed', async () => (await rowOf(queued))['state'] === 'running');
    const [mine, claimed] = [await rowOf(started), await rowOf(queued)];
    const lease = { lease_s: expect.closeTo(30, 0) as unknown };
    expect(mine).toEqual({ ...claimed, ...lease });
    expect(claimed).toMatchObject(lease);
    const owners = await world.database.db.query('SELECT DISTINCT lease_owner FROM run');
    expect(owners).toHaveLength(1);
  });

  it('R-1 begins only after the transaction of its caller is committed', async () => {
    const db = await world.database.connectAgain();
    const one = await idleReplica({ maxRunning: 1 }, db);
    const prepared = await one.runs.prepare(request('looker'));
    const run = await db.transaction(async () => {
      const added = await one.runs.insert(prepared);
      await db.query('SELECT 1');
      expect(one.workers.held).toEqual([]);
      return added;
    });
    await until('the replica executes the run', () => one.workers.held.includes(run.id));
  });

  it('R-1 gives its slot back if its transaction is rolled back, or is committed without the run', async () => {
    const db = await world.database.connectAgain();
    const one = await idleReplica({ maxRunning: 1 }, db);
    const prepared = await one.runs.prepare(request('looker'));
    const rolledBack = db.transaction(async () => {
      await one.runs.insert(prepared);
      throw new Error('not now');
    });
    await expect(rolledBack).rejects.toThrow('not now');
    await addNamespace('brief');
    const orphan = await one.runs.prepare(request('looker', { namespace: 'brief' }));
    await db.query(`UPDATE namespace SET deleted_at = now() WHERE name = 'brief'`);
    await db.transaction(async () => void (await one.runs.insert(orphan).catch(() => undefined)));
    expect(one.workers.held).toEqual([]);
    expect(await one.runs.insert(prepared)).toMatchObject({ state: 'running' });
    expect(await world.database.db.query('SELECT FROM run')).toHaveLength(1);
  });

  it('B6 is queued if the replica has no room, and another replica executes it', async () => {
    const full = await idleReplica({ maxRunning: 1 });
    expect(await full.run('looker')).toMatchObject({ state: 'running' });
    const queued = await full.run('talker');
    expect(queued).toMatchObject({ state: 'queued', attempts: 0 });
    const other = await world.replica();
    expect(await ended(other, queued)).toMatchObject({ state: 'completed', attempts: 1 });
    expect(full.workers.held).toHaveLength(1);
  });

  it('B6 is queued behind older runs of its agent, and starts when one of them has ended', async () => {
    const one = await idleReplica({ maxRunningPerAgent: 1 });
    const runs = [await one.run('looker'), await one.run('looker')];
    expect(await one.run('talker')).toMatchObject({ state: 'running' }); // another agent has room
    world.gate.resolve();
    expect(runs.map(({ state }) => state)).toEqual(['running', 'queued']);
    for (const run of runs) expect(await ended(one, run)).toMatchObject({ state: 'completed', attempts: 1 });
    await until('the replica is idle', () => one.workers.held.length === 0);
    await one.workers.pass(); // finds that no other run waits
    expect(await one.run('looker')).toMatchObject({ state: 'running' });
  });

  it('B6 takes no slot of a replica that stops: the run is executed by another one', async () => {
    const db = await world.database.connectAgain();
    const stopping = await idleReplica({}, db);
    const prepared = await stopping.runs.prepare(request('talker'));
    const [stored, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = db.transaction(async () => {
      const run = await stopping.runs.insert(prepared);
      stored.resolve();
      await stopped.promise;
      return run;
    });
    await stored.promise;
    await world.stop(stopping);
    const queued = await stopping.run('talker');
    expect(queued).toMatchObject({ state: 'queued' });
    stopped.resolve();
    const started = await late;
    await until('the run is handed over', async () => (await rowOf(started))['leased'] === false);
    const other = await world.replica();
    expect(await ended(other, queued)).toMatchObject({ state: 'completed', attempts: 1 });
    expect(await ended(other, started)).toMatchObject({ state: 'completed', attempts: 2, crashes: 0 });
  });

  it('B6 runs that start on two replicas at once are executed once each, within the limits', async () => {
    const limits = { maxRunning: 3, maxRunningPerAgent: 3 };
    const both = [await idleReplica(limits), await idleReplica(limits)];
    world.gate.resolve();
    const runs = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => await both[index % 2]?.run(index % 3 === 0 ? 'looker' : 'talker')),
    );
    let most = 0;
    await until('all runs have ended', async () => {
      const held = both.map(({ workers }) => workers.held.length);
      most = Math.max(most, ...held);
      return (await world.database.db.query(`SELECT FROM run WHERE state <> 'completed'`)).length === 0;
    });
    expect(most).toBeLessThanOrEqual(3);
    expect(new Set(runs.map((run) => run?.state))).toEqual(new Set(['running', 'queued']));
    expect(await world.database.db.query('SELECT FROM run WHERE attempts <> 1 OR crashes <> 0')).toEqual([]);
    expect([world.agents.callsOf('looker'), world.agents.callsOf('talker')]).toEqual([3 * 20, 40]);
  });

  it('B6 a run whose replica dies right after the start is executed by another replica when the lease has ended', async () => {
    const { proxy, url } = await proxyPostgres(world.database.url);
    const first = await idleReplica({}, await world.database.connectAgain({ url, operationTimeoutMs: 500 }));
    const run = await first.run('talker');
    proxy.cut();
    expect(run).toMatchObject({ state: 'running', attempts: 1 });
    const second = await idleReplica();
    expect(await rowOf(run)).toMatchObject({ state: 'running', attempts: 1 }); // the lease is valid
    await world.endLeases();
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2, crashes: 1 });
    expect(await budgetOf(second, run)).toMatchObject({ held: 0 });
    proxy.heal();
    await world.stop(first);
    await proxy.stop();
  });

  it('R-1 a run that was committed although its start failed is claimed by the same replica, without a crash', async () => {
    const db = await world.database.connectAgain();
    const one = await idleReplica({}, db);
    const busy = await one.run('looker');
    const prepared = await one.runs.prepare(request('talker'));
    await db
      .transaction(async () => {
        const { id } = await one.runs.insert(prepared);
        await db.query('COMMIT'); // the response of the COMMIT is lost
        throw new Error(id);
      })
      .catch(() => undefined);
    const [lost] = await world.database.db.query<Run>(`SELECT id FROM run WHERE id <> $1`, [busy.id]);
    if (!lost) throw new Error('the run is not stored');
    expect(await ended(one, lost)).toMatchObject({ state: 'completed', attempts: 2, crashes: 0 });
  });
});

describe('capacity', () => {
  it('S-5 with 600 queued runs of one namespace, the run of another namespace starts next', async () => {
    await world.replica({ maxRunning: 0 }); // defines the agents
    await addNamespace('small');
    await addNamespace('large');
    const idle = await world.replica({ maxRunning: 0 });
    for (let count = 0; count < 600; count += 50)
      await Promise.all(
        Array.from({ length: 50 }, async () => await idle.runs.start(request('looker', { namespace: 'large' }))),
      );
    const busy = await world.replica({ maxRunning: 2, maxRunningPerAgent: 2 });
    await until('the slots are taken', () => busy.workers.held.length === 2);
    const last = await idle.runs.start(request('talker', { namespace: 'small' }));
    world.gate.resolve();
    const done = await busy.reader.wait({ namespace: 'small', id: last.id }, { waitMs: 20_000 });
    expect(done.state).toBe('completed');
    const [before] = await world.database.db.query<{ runs: number }>(
      'SELECT count(*)::integer AS runs FROM run WHERE started_at < $1',
      [done.startedAt],
    );
    expect(before?.runs).toBeLessThanOrEqual(4); // the first two, and at most one other for each slot
  });

  it('S-5 a start is rejected with RUN_QUEUE_FULL if its credential or its namespace has too many queued runs', async () => {
    const queue = {
      perNamespace: { limit: 3, setting: 'quotas.queuedRunsOfNamespace (ROLLCALL_QUOTAS)' },
      perCredential: { limit: 2, setting: 'quotas.queuedRuns (ROLLCALL_QUOTAS)' },
    };
    const full = await idleReplica({ maxRunning: 1, queue });
    const start = async (by: string): Promise<Run> => await full.runs.start(request('looker', { by }));
    expect(await start('key:ann')).toMatchObject({ state: 'running' }); // is not queued, so it does not count
    for (let count = 0; count < 2; count += 1) expect(await start('key:ann')).toMatchObject({ state: 'queued' });
    await expect(start('key:ann')).rejects.toMatchObject({
      code: 'RUN_QUEUE_FULL',
      retryAfterMs: 5_000,
      details: { limit: 2, setting: 'quotas.queuedRuns (ROLLCALL_QUOTAS)' },
    });
    expect(await start('key:bob')).toMatchObject({ state: 'queued' });
    await expect(start('key:bob')).rejects.toMatchObject({
      code: 'RUN_QUEUE_FULL',
      details: { limit: 3, setting: 'quotas.queuedRunsOfNamespace (ROLLCALL_QUOTAS)' },
    });
    const roomy = await idleReplica({ queue });
    world.gate.resolve();
    await until('the queue is empty', async () => {
      return (await world.database.db.query(`SELECT FROM run WHERE state <> 'completed'`)).length === 0;
    });
    expect(await ended(roomy, await start('key:ann'))).toMatchObject({ state: 'completed' });
  });
});

describe('a run that crashes its replicas', () => {
  /** Two replicas lose their leases while the tool of the run works. */
  async function crashTwice(): Promise<{ run: Run; on: TestRuns; waiting: Run }> {
    const first = await idleReplica();
    const run = await first.run('looker');
    for (const crashes of [1, 2]) {
      await until('the tool works', () => world.executed.length === crashes);
      await world.endLeases();
      await world.replica();
    }
    const on = await world.replica({ maxRunning: 0 });
    return { run, on, waiting: await ended(on, run) };
  }

  async function decide({ run, on, waiting }: Awaited<ReturnType<typeof crashTwice>>, how: object): Promise<Run> {
    const [pending] = waiting.result?.approvals ?? [];
    if (!pending) throw new Error('the run needs no decision');
    const { callId, inputHash } = pending;
    await on.runs.approve(keyOf(run), { callId, inputHash, approved: true, ...how }, ACTOR);
    return await ended(on, run);
  }

  it('S-2 waits for review if two of them lost their lease in the same step, and holds nothing', async () => {
    const { run, on, waiting } = await crashTwice();
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review', crashes: 2 });
    expect(waiting.result?.detail).toContain('2 replicas crashed or lost their lease in the same step');
    expect(waiting.result?.approvals).toMatchObject([{ callId: run.id, tool: 'looker' }]);
    expect(world.executed).toHaveLength(2);
    expect(await budgetOf(on, run)).toEqual({ used: TOKENS, held: 0 });
  });

  it('S-2 continues from the same step if an operator approves it', async () => {
    const crashed = await crashTwice();
    world.gate.resolve();
    expect(await decide(crashed, {})).toMatchObject({
      state: 'completed',
      usage: { inputTokens: 30, outputTokens: 15 },
    });
    expect(world.agents.callsOf('looker')).toBe(3);
    expect(await rowOf(crashed.run)).toMatchObject({ crashes: 2, crashes_in_step: 0 });
  });

  it('S-2 is stopped if an operator rejects it, and completed if an operator records its answer', async () => {
    const crashed = await crashTwice();
    const rejected = await decide(crashed, { approved: false, reason: 'It is too large.' });
    expect(rejected).toMatchObject({ state: 'stopped', result: { reason: 'rejected' } });
    expect(rejected.result?.detail).toBe('An operator decided that the run does not continue. It is too large.');
    world.executed.length = 0;
    const other = await crashTwice();
    const answered = await decide(other, { output: 'Here it is.' });
    expect(answered).toMatchObject({ state: 'completed', result: { parts: [{ type: 'text', text: 'Here it is.' }] } });
  });

  it('S-2 continues without a decision if the leases were lost in different steps', async () => {
    const first = await idleReplica();
    const run = await first.run('looker');
    await until('the tool works', () => world.executed.length === 1);
    await world.database.db.query('UPDATE run SET crashes = 1, crashes_in_step = 1, crashed_after = 1');
    await world.endLeases();
    await world.replica();
    await until('the tool works again', () => world.executed.length === 2);
    expect(await rowOf(run)).toMatchObject({ crashes: 2, crashes_in_step: 1 });
    world.gate.resolve();
    expect(await ended(first, run)).toMatchObject({ state: 'completed', attempts: 2 });
  });
});
