import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from '../postgres/database.js';
import { proxyPostgres, testDatabase, type TestDatabase } from '../testing/index.js';
import { until } from '#rollcall/test-support';
import { LeasedWork, type LeasedWorkOptions, type WorkClaim, type WorkEnd, type Worker } from './leased-work.js';

const LEASE_MS = 60_000;
const IDS = Array.from({ length: 12 }, (_, index) => `row-${index}`);

let database: TestDatabase;
/** The workers of all replicas, by row. */
let running: Map<string, TestWorker[]>;
let overlaps: string[];
let faults: unknown[];

beforeEach(async () => {
  database = await testDatabase();
  running = new Map();
  overlaps = [];
  faults = [];
  await database.db.query(`CREATE TABLE work_item
    (id text PRIMARY KEY, owner text, token uuid, until timestamptz, writes int NOT NULL DEFAULT 0)`);
  await database.db.query('INSERT INTO work_item (id) SELECT unnest($1::text[])', [IDS]);
});
afterEach(async () => await database.drop());

function storeOn(db: Database): LeasedWorkOptions<WorkClaim>['store'] {
  const tokens = (held: readonly WorkClaim[]): string[] => held.map(({ token }) => token);
  return {
    claim: async (owner, held, leaseMs) =>
      await db.query<WorkClaim>(
        `UPDATE work_item SET owner = $1, token = gen_random_uuid(), until = clock_timestamp() + $3 * interval '1 millisecond'
         WHERE id IN (SELECT id FROM work_item WHERE id <> ALL ($2)
           AND (until IS NULL OR until < clock_timestamp() OR owner = $1) FOR UPDATE SKIP LOCKED) RETURNING id, token`,
        [owner, held, leaseMs],
      ),
    renew: async (held, leaseMs) => {
      const rows = await db.query<WorkClaim>(
        `UPDATE work_item SET until = clock_timestamp() + $2 * interval '1 millisecond'
         WHERE token = ANY ($1) RETURNING id`,
        [tokens(held), leaseMs],
      );
      return new Set(rows.map(({ id }) => id));
    },
    release: async (held) => {
      await db.query('UPDATE work_item SET token = NULL, until = NULL WHERE token = ANY ($1)', [tokens(held)]);
    },
  };
}

/** Works until it is stopped, and writes when the test calls `write`. */
class TestWorker implements Worker<WorkClaim> {
  private readonly stopping = Promise.withResolvers<void>();
  /** Replaced by a test whose worker needs time to end. */
  ending: Promise<void> = Promise.resolve();
  private finished?: Promise<WorkEnd>;

  constructor(readonly claim: WorkClaim) {}

  run(): Promise<WorkEnd> {
    this.finished ??= this.work();
    return this.finished;
  }

  async stop(): Promise<void> {
    this.finish();
    await this.finished;
  }

  finish(): void {
    this.stopping.resolve();
  }

  /** Returns whether the fence accepted the write. */
  async write(): Promise<boolean> {
    const { id, token } = this.claim;
    const update = 'UPDATE work_item SET writes = writes + 1 WHERE id = $1 AND token = $2 RETURNING 1';
    return (await database.db.query(update, [id, token])).length > 0;
  }

  private async work(): Promise<WorkEnd> {
    const { id } = this.claim;
    const others = running.get(id) ?? [];
    if (others.length > 0) overlaps.push(id);
    running.set(id, [...others, this]);
    await this.stopping.promise;
    await this.ending;
    running.set(
      id,
      (running.get(id) ?? []).filter((worker) => worker !== this),
    );
    return 'ended';
  }
}

function replica(db: Database, options: Partial<LeasedWorkOptions<WorkClaim>> = {}): LeasedWork<WorkClaim> {
  return new LeasedWork({
    store: storeOn(db),
    open: async (claim) => new TestWorker(claim),
    onError: (error) => void faults.push(error),
    leaseMs: LEASE_MS,
    ...options,
  });
}

function workerOf(id: string): TestWorker {
  const [worker] = running.get(id) ?? [];
  if (!worker) throw new Error(`no worker runs for ${id}`);
  return worker;
}

describe('leased work', () => {
  it('never runs two workers for one row at the same time', async () => {
    const replicas = [replica(database.db), replica(await database.connectAgain()), replica(database.db)];
    for (let round = 0; round < 20; round++) {
      await Promise.all(replicas.map(async (one) => await one.pass()));
      expect(replicas.flatMap(({ held }) => held).toSorted()).toEqual(IDS.toSorted());
      for (const id of IDS.slice(round % 5)) workerOf(id).finish();
      await database.db.query('UPDATE work_item SET until = NULL WHERE id = ANY ($1)', [IDS.slice(round % 5)]);
    }
    expect(overlaps).toEqual([]);
    await Promise.all(replicas.map(async (one) => await one.stop()));
    expect([overlaps, faults]).toEqual([[], []]);
  });

  it('claims a row once if two passes of one replica begin at the same time', async () => {
    const one = replica(database.db);
    await Promise.all([one.pass(), one.pass(), one.pass()]);
    expect(one.held.toSorted()).toEqual(IDS.toSorted());
    await one.stop();
    expect([overlaps, faults]).toEqual([[], []]);
  });

  it('rejects the writes of a worker that was frozen beyond the end of its lease', async () => {
    const [frozen, healthy] = [replica(database.db), replica(await database.connectAgain())];
    await frozen.pass();
    const late = workerOf('row-0');
    expect(await late.write()).toBe(true);
    await database.db.query(`UPDATE work_item SET until = clock_timestamp() - interval '1 second' WHERE id = 'row-0'`);
    await healthy.pass();
    expect(healthy.held).toEqual(['row-0']);
    expect(await late.write()).toBe(false);
    await frozen.pass();
    await until('the frozen worker is stopped', () => !frozen.held.includes('row-0'));
    expect(running.get('row-0')?.map(({ claim }) => claim.token)).not.toContain(late.claim.token);
    expect(await workerOf('row-0').write()).toBe(true);
    await Promise.all([frozen.stop(), healthy.stop()]);
  });

  /** Stores a row that is already leased, as if this replica had claimed it. */
  async function storedBy(owner: LeasedWork<WorkClaim>): Promise<WorkClaim> {
    const claim = { id: 'new', token: crypto.randomUUID() };
    await database.db.query(
      `INSERT INTO work_item (id, owner, token, until) VALUES ($1, $2, $3, clock_timestamp() + interval '1 minute')`,
      [claim.id, owner.owner, claim.token],
    );
    return claim;
  }

  it('R-1 works on an adopted row without a claim, renews its lease, and hands it over when it stops', async () => {
    const [one, other] = [replica(database.db), replica(await database.connectAgain())];
    await one.pass();
    await one.adopt(await storedBy(one));
    await Promise.all([one.pass(), other.pass()]);
    expect([one.held.includes('new'), other.held]).toEqual([true, []]);
    expect(await workerOf('new').write()).toBe(true);
    await one.stop();
    await other.pass();
    expect(other.held).toContain('new');
    expect([overlaps, faults]).toEqual([[], []]);
    await other.stop();
  });

  it('R-1 hands over a row that is adopted after the stop', async () => {
    const [one, other] = [replica(database.db), replica(await database.connectAgain())];
    const claim = await storedBy(one);
    await one.stop();
    await one.adopt(claim);
    expect([one.held, running.get('new')]).toEqual([[], undefined]);
    await other.pass();
    expect(other.held).toContain('new');
    await other.stop();
  });

  it('R-1 an adopted row does not work in the context of the request that stored it', async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const one = replica(database.db, {
      open: async (claim) => {
        seen.push(request.getStore());
        return new TestWorker(claim);
      },
    });
    const claim = await storedBy(one);
    await request.run('a request', async () => await one.adopt(claim));
    expect(seen).toEqual([undefined]);
    await one.stop();
  });

  it('R-2 hands each row over when it stops, after the work on it has ended, and renews the lease until then', async () => {
    const leaving = replica(database.db, { everyMs: 20 });
    const staying = replica(await database.connectAgain());
    await leaving.pass();
    const busy = Promise.withResolvers<void>();
    workerOf('row-3').ending = busy.promise;
    const stopped = leaving.stop();
    const others = IDS.filter((id) => id !== 'row-3');
    await until('all other rows are handed over', async () => {
      await staying.pass();
      return staying.held.length === others.length;
    });
    expect(staying.held.toSorted()).toEqual(others.toSorted());
    const leaseOf = async (): Promise<string> => {
      const sql = `SELECT until::text FROM work_item WHERE id = 'row-3'`;
      return (await database.db.query<{ until: string }>(sql))[0]?.until ?? '';
    };
    const before = await leaseOf();
    await until('the lease is renewed', async () => (await leaseOf()) > before);
    busy.resolve();
    await stopped;
    await staying.pass();
    expect(staying.held.toSorted()).toEqual(IDS.toSorted());
    expect(overlaps).toEqual([]);
    await staying.stop();
  });

  it('stops its workers before their leases end when the database is unreachable', async () => {
    const { proxy, url } = await proxyPostgres(database.url);
    const cutOff = replica(await database.connectAgain({ url }), { leaseMs: 1_500, everyMs: 100 });
    cutOff.start();
    await until('all rows are held', () => cutOff.held.length === IDS.length);
    proxy.cut();
    await until('all workers are stopped', () => cutOff.held.length === 0);
    expect(faults).not.toEqual([]);
    proxy.heal();
    await until('the rows are claimed again', () => cutOff.held.length === IDS.length);
    expect(overlaps).toEqual([]);
    await cutOff.stop();
    await proxy.stop();
  });

  it('reports a row whose worker cannot be opened or fails, and works on the other rows', async () => {
    const broken = replica(database.db, {
      open: async (claim) => {
        if (claim.id === 'row-1') throw new Error('cannot be opened');
        const worker = new TestWorker(claim);
        return claim.id === 'row-2'
          ? Object.assign(worker, { run: () => Promise.reject(new Error('failed')) })
          : worker;
      },
    });
    await broken.pass();
    await until('the failed worker has ended', () => broken.held.length === IDS.length - 2);
    expect(faults.map(String)).toEqual(['Error: cannot be opened', 'Error: failed']);
    await broken.stop();
  });
});
