import type { EventPayloads } from '#rollcall/platform';
import { EVENTS } from './event.catalog.js';

type EventDocs = { [T in keyof EventPayloads]: { about: string; data: EventPayloads[T] } };

const BUDGET = {
  kind: 'agent',
  of: 'builder-1',
  window: 'total',
  unit: 'tokens',
  limit: 500_000,
  remaining: 12_000,
  agentId: 'builder-1',
} as const;

/** What each event means, with an example that the compiler holds against the event's type. */
const EVENT_DOCS: EventDocs = {
  'agent.joined': {
    about: 'An agent registered.',
    data: { generation: 3, name: 'Builder', capabilities: ['code.build'] },
  },
  'agent.left': {
    about:
      'An agent is no longer listed. `reason`: `deregistered`, `shutdown`, `drained`, `quarantined`, `evicted`, `replaced` or `budget_exhausted`.',
    data: { generation: 3, reason: 'evicted' },
  },
  'agent.updated': {
    about: 'These fields of its record changed, by the names `PATCH` takes; read the record for the values.',
    data: { generation: 3, changed: ['capabilities', 'endpoint'] },
  },
  'agent.suspect': { about: 'It misses heartbeats, and may soon be evicted.', data: { generation: 3, missedBeats: 2 } },
  'agent.recovered': { about: 'It beats again.', data: { generation: 3 } },
  'agent.draining': { about: 'An operator wants no new work for it.', data: { by: 'key:4fT9sKq2Lm' } },
  'agent.quarantined': {
    about: 'An operator took it out of routing.',
    data: { by: 'key:4fT9sKq2Lm', reason: 'wrong answers' },
  },
  'agent.resumed': { about: 'An operator put it back.', data: { by: 'key:4fT9sKq2Lm' } },
  'circuit.opened': {
    about: 'Calls to it fail, so it gets none until `retryAt`.',
    data: { consecutiveFailures: 5, retryAt: '2026-11-16T06:00:30.000Z' },
  },
  'circuit.half_opened': { about: 'One probe is under way.', data: {} },
  'circuit.closed': { about: 'Calls go to it again.', data: {} },
  'budget.low': { about: 'Little is left of a budget.', data: BUDGET },
  'budget.exhausted': {
    about: 'Nothing is left. An agent finishes its task and leaves the ranking.',
    data: { ...BUDGET, remaining: 0 },
  },
  'budget.replenished': { about: 'There is something again.', data: { ...BUDGET, remaining: 500_000 } },
  'registry.clock_stepped_back': {
    about: "The database's clock went back. Leases, circuits and reservations were corrected.",
    data: { byMs: 60_000 },
  },
  'protection.entered': {
    about: 'Too many agents are silent at once; none is evicted for now.',
    data: { expiring: 40, fleet: 120 },
  },
  'protection.left': { about: 'Evictions go on.', data: { fleet: 118 } },
};

/** The reference table of docs/events.md. */
export function eventTable(): string {
  const rows = EVENTS.types.map((type) => {
    const { about, data } = EVENT_DOCS[type];
    return `| \`${type}\` | ${EVENTS.subjects[type]} | ${about} | \`${JSON.stringify(data)}\` |`;
  });
  return ['| type | subject | what happened | data, for example |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
