import { Database, type EventDraft, EventOutbox } from '#rollcall/platform';
import type { TestApi } from './api.js';

/** Appends events on a replica, as its services do. */
export async function appendEvents({ app }: Pick<TestApi, 'app'>, ...drafts: EventDraft[]): Promise<void> {
  const db = app.nest.get(Database, { strict: false });
  const outbox = app.nest.get(EventOutbox, { strict: false });
  await db.transaction(async () => await outbox.appendAll(drafts));
}

export function joined(subject: string, capabilities: string[] = []): EventDraft {
  return { type: 'agent.joined', subject, capabilities, data: { generation: 1, name: subject, capabilities } };
}

export function left(subject: string): EventDraft {
  return { type: 'agent.left', subject, data: { generation: 1, reason: 'deregistered' } };
}

export function many(count: number): EventDraft[] {
  return Array.from({ length: count }, (_, index) => joined(`a-${index}`));
}

/** Returns the sequence numbers from `first` to `last`. */
export function upTo(last: number, first = 1): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Returns the sequence number of a cursor such as `1042-9f3c27d1`. */
export function seqOf(cursor: unknown): string {
  return String(cursor).replace(/-[0-9a-f]{8}$/, '');
}
