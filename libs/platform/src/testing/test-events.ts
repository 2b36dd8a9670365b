import type { Database } from '../postgres/database.js';
import { EventCatalog } from '../events/event.catalog.js';
import { RegistryEvents, type RegistryEventsOptions } from '../events/registry.events.js';
import type { EventType, RegistryEvent, SubjectKind } from '../events/event.types.js';

export interface TestEvents extends RegistryEvents {
  /** What went wrong and was survived. */
  faults: unknown[];
}

/** The platform has no event types of its own: these are some of the registry's. */
export const SOME_EVENTS = new EventCatalog({
  'agent.joined': 'agent',
  'agent.left': 'agent',
  'agent.resumed': 'agent',
  'circuit.closed': 'agent',
  'budget.low': 'budget',
  'protection.left': 'registry',
} as Record<EventType, SubjectKind>);

/** The events of one replica, not yet started. */
export function testEvents(db: Database, options: Partial<RegistryEventsOptions> = {}): TestEvents {
  const faults: unknown[] = [];
  const onError = (_part: string, error: unknown): void => void faults.push(error);
  const events = new RegistryEvents(db, {
    catalog: SOME_EVENTS,
    keepMs: 3_600_000,
    keepCount: 1_000_000,
    onError,
    ...options,
  });
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
