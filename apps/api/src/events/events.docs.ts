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

const RUN = { rootId: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f', parentId: null, agentId: 'reviewer' } as const;

/** The meaning of each event, with an example. The compiler checks the example against the type of the event. */
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
    about:
      'The record of an agent changed. `changed` lists the fields, with their names in `PATCH`; read the record for the values.',
    data: { generation: 3, revision: 5, changed: ['capabilities', 'endpoint'] },
  },
  'agent.suspect': {
    about: 'An agent missed heartbeats and may soon be evicted.',
    data: { generation: 3, missedBeats: 2 },
  },
  'agent.recovered': { about: 'A suspect agent sends heartbeats again.', data: { generation: 3 } },
  'agent.draining': {
    about: 'An operator set an agent to draining: it gets no new work.',
    data: { by: 'key:4fT9sKq2Lm' },
  },
  'agent.quarantined': {
    about: 'An operator set an agent to quarantined: it gets no work.',
    data: { by: 'key:4fT9sKq2Lm', reason: 'wrong answers' },
  },
  'agent.resumed': { about: 'An operator set an agent to active again.', data: { by: 'key:4fT9sKq2Lm' } },
  'circuit.opened': {
    about:
      'Calls to an agent failed repeatedly. It gets no calls until `retryAt`. `reporters`: the callers that reported these failures.',
    data: {
      consecutiveFailures: 5,
      retryAt: '2026-11-16T06:00:30.000Z',
      reporters: [{ id: 'key:4fT9sKq2Lm', name: 'planner', failures: 5 }],
    },
  },
  'circuit.half_opened': { about: 'One probe call tests whether the agent works again.', data: {} },
  'circuit.closed': { about: 'The agent gets calls again.', data: {} },
  'budget.low': { about: 'The remaining amount of a budget fell below its threshold.', data: BUDGET },
  'budget.exhausted': {
    about:
      'Nothing is left of a budget. If it is the budget of an agent, the agent finishes its task and leaves the ranking.',
    data: { ...BUDGET, remaining: 0 },
  },
  'budget.replenished': {
    about: 'A budget is no longer exhausted, or no longer low.',
    data: { ...BUDGET, remaining: 500_000 },
  },
  'definition.registered': {
    about: 'A definition of an agent was registered. `source`: `code`, `config`, `rest` or `file`.',
    data: { revision: 1, source: 'rest', by: 'key:4fT9sKq2Lm' },
  },
  'definition.replaced': {
    about: 'A definition has a new revision. Calls in progress finish with the previous revision.',
    data: { revision: 2, source: 'rest', by: 'key:4fT9sKq2Lm' },
  },
  'definition.unregistered': {
    about: 'A definition was removed. `revision` is the last revision of the definition.',
    data: { revision: 2, source: 'rest', by: 'key:4fT9sKq2Lm' },
  },
  'run.queued': {
    about: 'A run was started, or continues after it waited. The next replica with free capacity executes it.',
    data: { ...RUN, by: 'key:4fT9sKq2Lm' },
  },
  'run.started': { about: 'A replica began to execute a run.', data: RUN },
  'run.waiting': {
    about: 'A run waits for its caller or an operator. `waitingFor`: `input`, `approval` or `needs_review`.',
    data: { ...RUN, waitingFor: 'approval' },
  },
  'run.finished': {
    about:
      'A run ended. `state`: `completed`, `refused`, `stopped` or `failed`. `reason`: the limit that stopped it, or the code of its error.',
    data: { ...RUN, state: 'completed', reason: null },
  },
  'run.cancelled': { about: 'A run was cancelled.', data: { ...RUN, by: 'key:4fT9sKq2Lm' } },
  'contract.announced': {
    about: 'A contract was announced. The agents in `invited` may bid until the deadline.',
    data: {
      invited: ['builder-1', 'builder-2'],
      capabilities: ['code.build'],
      deadline: '2026-11-16T06:00:05.000Z',
      by: 'key:4fT9sKq2Lm',
    },
  },
  'contract.answered': {
    about: 'An invited agent has bid or refused. The bids are sealed until the auction closes.',
    data: { answered: 1, invited: 2 },
  },
  'contract.awarded': {
    about:
      'The auction closed, or an award lapsed, and this agent has the award. It must confirm before `confirmBy`. `price` is in micro-dollars.',
    data: { agentId: 'builder-1', score: 0.91, price: 40_000, etaMs: 90_000, confirmBy: '2026-11-16T06:00:15.000Z' },
  },
  'contract.lapsed': {
    about:
      'The agent lost its award: it declined, did not confirm in time, left, registered again, or was drained or quarantined. The next best bidder gets the award; if no other bidder can get it, the contract expires.',
    data: { agentId: 'builder-1', declined: false },
  },
  'contract.confirmed': { about: 'The agent confirmed its award.', data: { agentId: 'builder-2' } },
  'contract.lost': {
    about: 'The agent has bid and has not won: another agent confirmed, or the contract expired or was cancelled.',
    data: { agentId: 'builder-1' },
  },
  'contract.expired': {
    about:
      'A contract ended without a winner. `reason`: `no_capable_agent`, `no_bid`, `all_refused`, `bidders_left`, `budget_exhausted` or `not_confirmed`.',
    data: { reason: 'no_bid' },
  },
  'contract.cancelled': { about: 'A contract was cancelled.', data: { by: 'key:4fT9sKq2Lm' } },
  'contract.completed': {
    about:
      'The outcome of the work is known: what it cost, in micro-dollars, and how long it took. Null means unknown.',
    data: { agentId: 'builder-2', ok: true, microUsd: 42_000, ms: 95_000 },
  },
  'registry.clock_stepped_back': {
    about: 'The clock of the database was set back. Leases, circuits, reservations and contracts were corrected.',
    data: { byMs: 60_000 },
  },
  'protection.entered': {
    about:
      'Self-preservation began: too many agents are silent at the same time, so no agent is evicted for a limited time.',
    data: { expiring: 40, fleet: 120 },
  },
  'event.expired': {
    about:
      'The event at this position was deleted, because its namespace exceeded the limit `eventsKept`. Only consumers of all namespaces receive this event, whatever their filter.',
    data: {},
  },
  'protection.left': { about: 'Self-preservation ended. Agents are evicted again.', data: { fleet: 118 } },
};

/** The data of each event, for example. */
export const EVENT_EXAMPLES: Readonly<Record<string, object>> = Object.fromEntries(
  EVENTS.types.map((type) => [type, EVENT_DOCS[type].data]),
);

/** The reference table of docs/events.md. */
export function eventTable(): string {
  const rows = EVENTS.types.map((type) => {
    const { about, data } = EVENT_DOCS[type];
    return `| \`${type}\` | ${EVENTS.subjects[type]} | ${about} | \`${JSON.stringify(data)}\` |`;
  });
  return ['| type | subject | what happened | data, for example |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
