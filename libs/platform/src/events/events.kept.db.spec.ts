import { until } from '#rollcall/test-support';
import type { Database } from '../postgres/database.js';
import {
  readAll,
  type TestDatabase,
  testEvents,
  type TestEvents,
  testReplica,
  type TestReplica,
} from '../testing/index.js';
import type { EventFilter } from './event.catalog.js';
import type { RegistryEvent } from './event.js';
import type { LogPage } from './event.store.js';

let replica: TestReplica;
let database: TestDatabase;
let db: Database;
let events: TestEvents;

beforeEach(async () => {
  replica = await testReplica();
  ({ database, db, events } = replica);
  await db.query(`INSERT INTO namespace (name, created_by) VALUES ('team-a', 'test'), ('team-b', 'test')`);
});
afterEach(async () => await replica.stop());

async function limit(namespace: string, eventsKept: number): Promise<void> {
  await db.query('UPDATE namespace SET limits = $2 WHERE name = $1', [namespace, { eventsKept }]);
}

/** Writes events of team-a, team-b and default in turn, and moves them to the log. */
async function write(count: number): Promise<void> {
  const prefixes = ['team-a/', 'team-b/', ''];
  const drafts = Array.from({ length: count }, (_, index) => ({
    type: 'agent.resumed' as const,
    subject: `${prefixes[index % 3]}builder`,
    data: { by: 'test' },
  }));
  await db.transaction(async () => await events.outbox.appendAll(drafts));
  while ((await events.sequencer.runOnce()).moved > 0);
}

async function kept(): Promise<Record<string, number>> {
  const rows = await db.query<{ namespace: string; kept: string }>('SELECT namespace, kept FROM event_namespace');
  return Object.fromEntries(rows.map(({ namespace, kept: count }) => [namespace, Number(count)]));
}

async function inLog(): Promise<Record<string, number>> {
  const rows = await db.query<{ namespace: string; count: string }>(
    `SELECT namespace, count(*) FROM event_log WHERE type <> 'event.expired' GROUP BY namespace`,
  );
  return Object.fromEntries(rows.map(({ namespace, count }) => [namespace, Number(count)]));
}

const seqs = ({ events: found }: LogPage): number[] => found.map(({ seq }) => seq);
const search = async (after: number, filter: EventFilter): Promise<LogPage> =>
  await events.log.search({ seq: after }, 100, filter);
const EXPIRED = { code: 'CURSOR_EXPIRED', oldest: 7 };

describe('the limit of events of a namespace', () => {
  it('keeps the newest events of the namespace, and all events of other namespaces', async () => {
    await write(12);
    await limit('team-a', 1);
    expect(await events.pruner.expire()).toEqual({ expired: 3 });
    const all = await readAll(events);
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    const expired = all.filter(({ type }) => type === 'event.expired');
    expect(expired.map(({ seq }) => seq)).toEqual([1, 4, 7]);
    expect(expired[0]).toMatchObject({ namespace: 'team-a', subject: 'team-a', capabilities: [], data: {} });
    expect(await kept()).toEqual({ 'team-a': 1, 'team-b': 4, default: 4 });
    expect(await events.pruner.expire()).toEqual({ expired: 0 });
  });

  it('applies to several namespaces in one pass, in batches, and again after new events', async () => {
    await write(3_600);
    await limit('team-a', 10);
    await limit('default', 1_199);
    expect(await events.pruner.expire()).toEqual({ expired: 1_191 });
    await write(6);
    expect(await events.pruner.expire()).toEqual({ expired: 4 });
    expect(await kept()).toEqual({ 'team-a': 10, 'team-b': 1_202, default: 1_199 });
    expect(await inLog()).toEqual(await kept());
  });

  it('a limit of 0 means no limit', async () => {
    await write(3);
    await limit('team-a', 0);
    expect(await events.pruner.expire()).toEqual({ expired: 0 });
  });

  it('only one replica deletes events at a time', async () => {
    await write(300);
    await limit('team-a', 1);
    const other = await testEvents(await database.connectAgain());
    const passes = await Promise.all([events.pruner.expire(), other.pruner.expire()]);
    expect(passes.reduce((sum, { expired }) => sum + expired, 0)).toBe(99);
    expect(await kept()).toEqual(await inLog());
  });

  it('the counters equal the log while replicas write and prune at the same time', async () => {
    await limit('team-a', 5);
    const other = await testEvents(await database.connectAgain(), { keepCount: 40 });
    for (let round = 0; round < 10; round++)
      await Promise.all([write(30), other.pruner.prune(), events.pruner.expire(), other.sequencer.runOnce()]);
    await events.pruner.expire();
    expect(await kept()).toEqual(await inLog());
    await other.pruner.prune();
    expect(await kept()).toEqual(await inLog());
  });
});

describe('after events have expired', () => {
  beforeEach(async () => {
    await write(12);
    await limit('team-a', 1);
    await events.pruner.expire();
  });

  it('a consumer of the namespace is rejected if it is behind, and continues otherwise', async () => {
    for (const after of [0, 1, 6])
      await expect(search(after, { namespaces: ['team-a'] })).rejects.toMatchObject({ ...EXPIRED, after });
    await expect(search(0, { namespaces: ['team-a'], types: ['agent.left'] })).rejects.toMatchObject(EXPIRED);
    expect(seqs(await search(7, { namespaces: ['team-a'] }))).toEqual([10]);
  });

  it('a consumer of another namespace skips the positions of the expired events', async () => {
    const page = await search(0, { namespaces: ['team-b'] });
    expect([seqs(page), page.upTo]).toEqual([[2, 5, 8, 11], 12]);
  });

  it('a consumer of all namespaces receives the expired events, even with a filter that they may have matched', async () => {
    expect(seqs(await search(0, {}))).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    for (const filter of [{ types: ['agent.left'] }, { agentIds: ['builder-2'] }, { capabilities: ['build'] }])
      expect(seqs(await search(0, filter))).toEqual([1, 4, 7]);
  });

  it('`oldest` is the earliest position from which a consumer misses no event', async () => {
    expect(await events.log.locate('oldest', ['team-a'])).toMatchObject({ seq: 7 });
    expect(await events.log.locate('oldest', ['team-b'])).toMatchObject({ seq: 0 });
    expect(await events.log.locate('oldest')).toMatchObject({ seq: 0 });
    await expect(events.log.locate('6', ['team-a'])).rejects.toMatchObject(EXPIRED);
    expect(await events.log.locate('6', ['team-b'])).toMatchObject({ seq: 6 });
  });

  it('retention also deletes expired events', async () => {
    const { pruner } = await testEvents(db, { keepCount: 4 });
    expect(await pruner.prune()).toEqual({ pruned: 8 });
    expect(await kept()).toEqual({ 'team-a': 1, 'team-b': 1, default: 2 });
    await expect(search(7, { namespaces: ['team-a'] })).rejects.toMatchObject({ code: 'CURSOR_EXPIRED', oldest: 8 });
  });
});

describe('the feed of a replica that reads events after they have expired', () => {
  interface Consumer {
    received: RegistryEvent[];
    errors: Error[];
  }

  function follow(feed: TestEvents['feed'], filter?: EventFilter): Consumer {
    const consumer: Consumer = { received: [], errors: [] };
    feed.subscribe(
      0,
      {
        accept: (batch) => void consumer.received.push(...batch),
        expired: (error) => void consumer.errors.push(error),
      },
      filter,
    );
    return consumer;
  }

  it('rejects consumers of the namespace, and serves all others', async () => {
    const late = await testEvents(await database.connectAgain());
    late.feed.start();
    await until('the feed has started', () => late.feed.position === 0);
    const frozen = Promise.withResolvers<void>();
    const page = late.log.page.bind(late.log);
    late.log.page = async (...request) => {
      await frozen.promise;
      return await page(...request);
    };
    const own = follow(late.feed, { namespaces: ['team-a'] });
    const other = follow(late.feed, { namespaces: ['team-b'] });
    const all = follow(late.feed);
    await write(12);
    await limit('team-a', 1);
    await events.pruner.expire();
    frozen.resolve();
    await until('all consumers are served', () => own.errors.length > 0 && all.received.length === 12);
    await until('the other consumer is served', () => other.received.some(({ seq }) => seq === 11));
    expect(own.errors).toMatchObject([EXPIRED]);
    expect(own.received).toEqual([]);
    expect(other.errors).toEqual([]);
    expect(all.received.map(({ seq }) => seq)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    await late.feed.stop();
  });
});
