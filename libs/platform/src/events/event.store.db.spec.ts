import { until } from '#rollcall/test-support';
import type { Database } from '../postgres/database.js';
import { SOME_EVENTS, type TestEvents, testReplica, type TestReplica } from '../testing/index.js';
import type { EventFilter } from './event.catalog.js';
import { MAX_SCANNED_EVENTS } from './event.store.js';

let replica: TestReplica;
let db: Database;
let events: TestEvents;

beforeEach(async () => {
  replica = await testReplica();
  ({ db, events } = replica);
});
afterEach(async () => await replica.stop());

const LOW = {
  kind: 'agent',
  of: 'a-2',
  agentId: 'a-2',
  window: 'total',
  unit: 'tokens',
  limit: 9,
  remaining: 1,
} as const;

/** Inserts events directly into the log. */
async function fill(count: number): Promise<void> {
  await db.query(
    `WITH logged AS (
       INSERT INTO event_log (seq, id, type, subject, capabilities, data, at)
       SELECT n, gen_random_uuid(), 'agent.resumed', 'a-' || n, '{code}', '{"by": "test"}', clock_timestamp()
       FROM generate_series(1, $1) AS n)
     UPDATE event_counter SET head = $1 WHERE id = 1`,
    [count],
  );
}

interface Reads {
  statements: number;
  rows: number;
  maxConcurrent: number;
}

/** From now on, counts the statements that contain `part`, and their rows. */
function countReads(part = ''): Reads {
  const reads: Reads = { statements: 0, rows: 0, maxConcurrent: 0 };
  const query = db.query.bind(db);
  let inProgress = 0;
  db.query = async (...args) => {
    const [sql] = args;
    if (!(typeof sql === 'string' ? sql : sql.text).includes(part)) return await query(...args);
    reads.statements += 1;
    reads.maxConcurrent = Math.max(reads.maxConcurrent, ++inProgress);
    try {
      const rows = await query(...args);
      reads.rows += rows.length;
      return rows as never[];
    } finally {
      inProgress -= 1;
    }
  };
  return reads;
}

describe('a search in the event log', () => {
  it('A8 scans at most 2,000 events per page when none of 50,000 events matches, and advances with each page', async () => {
    await fill(50_000);
    await events.log.end();
    const reads = countReads();
    const steps: number[] = [];
    for (let after = 0; after < 50_000;) {
      const { events: found, upTo } = await events.log.search({ seq: after }, 100, { types: ['agent.left'] });
      expect(found).toEqual([]);
      steps.push(upTo - after);
      after = upTo;
    }
    expect(steps).toEqual(Array.from({ length: 25 }, () => MAX_SCANNED_EVENTS));
    expect(reads).toMatchObject({ statements: 25, rows: 25 }); // each row contains the head and no event
  });

  it('A8 returns at most the requested number of events, and continues after the last of them', async () => {
    await fill(500);
    const first = await events.log.search({ seq: 0 }, 3, { capabilities: ['code'] });
    expect([first.events.map(({ seq }) => seq), first.upTo]).toEqual([[1, 2, 3], 3]);
    const reads = countReads();
    const rest = await events.log.search({ seq: 3 }, 1_000, {});
    expect([rest.events.length, rest.upTo, reads.rows]).toEqual([497, 500, 497]);
  });

  it('A8 reads one page after another when 500 pages are requested at the same time', async () => {
    await fill(3_000);
    await events.log.end();
    const reads = countReads();
    const search = async (): Promise<unknown> => await events.log.search({ seq: 0 }, 10, { agentIds: ['unknown'] });
    const pages = await Promise.all(Array.from({ length: 500 }, search));
    expect([pages.length, reads.statements, reads.maxConcurrent]).toEqual([500, 500, 1]);
  });

  it('A8 needs few statements for a consumer that is behind when few events match', async () => {
    await fill(50_000);
    await events.log.end();
    const reads = countReads('AS bounds'); // without the polls of the feed, whose number depends on the time
    const received: number[] = [];
    const accept = (batch: readonly { seq: number }[]): void => void received.push(...batch.map(({ seq }) => seq));
    const filter = { agentIds: ['a-30000'] };
    const subscription = events.feed.subscribe(0, { accept, expired: () => undefined }, filter);
    events.feed.start();
    await until('the consumer is up to date', () => subscription.cursor === 50_000);
    expect(received).toEqual([30_000]);
    expect(reads.statements).toBeGreaterThan(0);
    expect(reads.statements).toBeLessThan(40);
    expect(reads.rows).toBeLessThan(60);
  });

  it('A8 returns the events that the live feed delivers for the same filter', async () => {
    const capabilities = ['code', 'draw'];
    await db.transaction(async () => {
      await events.outbox.append('agent.resumed', 'a-1', { by: 'test' }, { capabilities });
      await events.outbox.append('agent.resumed', 'team-a/a-1', { by: 'test' }, { capabilities });
      await events.outbox.append('budget.low', 'a-2', LOW, { namespace: 'team-a' });
      await events.outbox.append('agent.left', 'a-2', { generation: 1, reason: 'evicted' });
      await events.outbox.append('budget.low', 'a-1', LOW);
      await events.outbox.append('circuit.closed', 'a-2', {});
      await events.outbox.append('protection.left', 'registry', { fleet: 1 });
      await events.outbox.append('budget.low', 'a-2', { ...LOW, kind: 'namespace', of: 'default', agentId: undefined });
    });
    await events.sequencer.runOnce();
    const { events: all } = await events.log.page(0, 100);
    const filters: EventFilter[] = [
      { types: ['agent.*'] },
      { types: ['budget.low', 'circuit.closed'] },
      { agentIds: ['a-1'] },
      { agentIds: ['a-2', 'registry'] },
      { capabilities: ['draw', 'paint'] },
      { capabilities: ['paint'] },
      { types: ['agent.*'], agentIds: ['a-1'], capabilities: ['code'] },
      { types: ['agent.*'], agentIds: ['a-2'], capabilities: ['code'] },
      { namespaces: ['default'] },
      { namespaces: ['default', '*'] },
      { namespaces: ['team-a'] },
      { namespaces: ['team-a'], agentIds: ['a-1'] },
      { namespaces: ['team-b'] },
      { namespaces: [] },
    ];
    for (const filter of filters) {
      const found = await events.log.search({ seq: 0 }, 100, filter);
      expect(found.events).toEqual(all.filter(SOME_EVENTS.matcherOf(filter)));
      expect(found.upTo).toBe(8);
    }
  });
});
