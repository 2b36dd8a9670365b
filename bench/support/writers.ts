import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '#rollcall/platform';
import { type TestEvents, testEvents } from '#rollcall/platform/testing';

const now = (): string => String(performance.timeOrigin + performance.now());

/** The event services of a replica that only writes. */
export async function writingReplica(db: Database): Promise<TestEvents> {
  return await testEvents(db, { keepMs: 86_400_000 });
}

/** Changes rows, each writer its own row, with or without events. Returns transactions per second. */
export async function changesPerSecond(db: Database, events: TestEvents | undefined, ms: number): Promise<number> {
  const ends = performance.now() + ms;
  let changes = 0;
  const write = async (agentId: string): Promise<void> => {
    for (; performance.now() < ends; changes++) {
      await db.transaction(async () => {
        await db.query('UPDATE bench_agent SET version = version + 1 WHERE id = $1', [agentId]);
        await events?.outbox.append('agent.resumed', agentId, { by: now() });
      });
    }
  };
  await Promise.all(Array.from({ length: 32 }, async (_, index) => await write(`a-${index}`)));
  return (changes * 1_000) / ms;
}

/** Appends events at a constant rate, one transaction for each. */
export async function appendEvenly(
  db: Database,
  { outbox }: TestEvents,
  perSecond: number,
  count: number,
): Promise<void> {
  const started = performance.now();
  const pending: Promise<void>[] = [];
  for (let appended = 0; appended < count;) {
    const due = Math.min(count, Math.ceil(((performance.now() - started) * perSecond) / 1_000));
    for (; appended < due; appended++)
      pending.push(
        db.transaction(async () => await outbox.append('agent.resumed', `a-${appended % 100}`, { by: now() })),
      );
    await delay(2);
  }
  await Promise.all(pending);
}

/** Appends events as fast as possible. */
export async function appendAtOnce(db: Database, { outbox }: TestEvents, count: number): Promise<void> {
  const type = 'agent.resumed' as const;
  const drafts = Array.from({ length: 1_000 }, (_, index) => ({ type, subject: `a-${index}`, data: { by: now() } }));
  for (let appended = 0; appended < count; appended += drafts.length)
    await db.transaction(async () => await outbox.appendAll(drafts));
}
