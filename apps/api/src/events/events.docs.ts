import { EVENT_SUBJECTS, EVENT_TYPES, type EventPayloads } from '#rollcall/registry';

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
const SPAWNED = { agentType: 'api', provider: 'anthropic' };
const RUN = { agentId: 'builder-1' };

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
  'agent.spawned': { about: 'An agent was made in a process of ours.', data: SPAWNED },
  'agent.shutdown': { about: 'It was shut down.', data: SPAWNED },
  'agent.shutdown_failed': {
    about: 'It was removed, but its shutdown raised an error.',
    data: { ...SPAWNED, error: 'connection reset' },
  },
  'registry.shutdown_all': {
    about: 'All agents of a process were asked to shut down.',
    data: { succeeded: ['builder-1'], failed: { 'painter-1': 'connection reset' } },
  },
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
  'definition.registered': { about: 'A definition was registered.', data: { revision: 1 } },
  'definition.replaced': { about: 'It has a new revision.', data: { revision: 2 } },
  'definition.unregistered': { about: 'It was removed; this was its last revision.', data: { revision: 2 } },
  'run.created': { about: 'A run is to be done.', data: RUN },
  'run.started': { about: 'A replica works on it.', data: RUN },
  'run.resumed': { about: 'Another replica goes on with it.', data: RUN },
  'run.waiting': { about: 'It waits for someone else.', data: RUN },
  'run.completed': { about: 'It has its answer.', data: RUN },
  'run.failed': { about: 'It ended without one.', data: { ...RUN, error: 'MODEL_UNAVAILABLE' } },
  'run.cancelled': { about: 'Someone cancelled it.', data: { ...RUN, by: 'key:4fT9sKq2Lm' } },
  'contract.announced': {
    about: 'A call for proposals is open.',
    data: { capabilities: ['code.build'], deadline: '2026-11-16T06:00:30.000Z' },
  },
  'contract.bid_received': { about: 'An agent made a bid.', data: RUN },
  'contract.awarded': { about: 'An agent won.', data: RUN },
  'contract.confirmed': { about: 'The winner took it.', data: RUN },
  'contract.closed': {
    about: 'It is over. `outcome`: `confirmed`, `no_bids`, `declined` or `cancelled`.',
    data: { outcome: 'confirmed' },
  },
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
  const rows = EVENT_TYPES.map((type) => {
    const { about, data } = EVENT_DOCS[type];
    return `| \`${type}\` | ${EVENT_SUBJECTS[type]} | ${about} | \`${JSON.stringify(data)}\` |`;
  });
  return ['| type | subject | what happened | data, for example |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
