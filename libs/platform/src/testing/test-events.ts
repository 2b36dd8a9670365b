import type { Database } from '../postgres/database.js';
import { RegistryEvents, type RegistryEventsOptions } from '../events/registry.events.js';
import type { RegistryEvent } from '../events/event.types.js';

export interface TestEvents extends RegistryEvents {
  /** What went wrong and was survived. */
  faults: unknown[];
}

/** The events of one replica, not yet started. */
export function testEvents(db: Database, options: Partial<RegistryEventsOptions> = {}): TestEvents {
  const faults: unknown[] = [];
  const onError = (_part: string, error: unknown): void => void faults.push(error);
  const events = new RegistryEvents(db, { keepMs: 3_600_000, keepCount: 1_000_000, onError, ...options });
  return Object.assign(events, { faults });
}

/** The whole log, in order. */
export async function readAll({ log }: RegistryEvents): Promise<RegistryEvent[]> {
  const all: RegistryEvent[] = [];
  for (;;) {
    const { events } = await log.page(all.length, 1_000);
    if (events.length === 0) return all;
    all.push(...events);
  }
}
