/** For the documentation. */
export const BUDGET_EXAMPLE = {
  id: '42',
  kind: 'agent',
  subject: 'builder-01',
  window: 'daily',
  timeZone: 'UTC',
  windowStart: '2026-02-24T00:00:00.000Z',
  windowEnd: '2026-02-25T00:00:00.000Z',
  condition: 'ample',
  limit: { tokens: 500_000, microUsd: null },
  low: { tokens: null, microUsd: null },
  usage: { own: { tokens: 123_456, microUsd: 0 }, subtree: { tokens: 123_456, microUsd: 0 } },
  reserved: { tokens: 4_000, microUsd: 0 },
  available: { tokens: 372_544, microUsd: null },
  path: [],
  source: 'ledger',
  freshness: null,
  createdAt: '2026-02-24T10:00:00.000Z',
};

export const RESERVATION_EXAMPLE = {
  key: 'run-7/turn-3',
  state: 'held',
  agentId: 'builder-01',
  runId: 'run-7',
  budgets: ['3', '41', '42'],
  held: { tokens: 4_000, microUsd: 60_000 },
  used: null,
  overdraft: false,
  estimated: false,
  expiresAt: '2026-02-24T10:45:00.000Z',
};

export const LINE_EXAMPLE = {
  seq: '1207',
  at: '2026-02-24T10:30:00.000Z',
  kind: 'charged',
  tokens: 1_500,
  microUsd: 22_500,
  own: true,
  limit: null,
  windowStart: '2026-02-24T00:00:00.000Z',
  reservation: 'run-7/turn-3',
  marks: [],
  by: 'key:4fT9sKq2Lm',
  note: null,
};

export const FORECAST_EXAMPLE = {
  tokens: { perHour: 12_000, available: 372_544, runsOutAt: null },
  microUsd: { perHour: 0, available: null, runsOutAt: null },
  overMs: 86_400_000,
  runsOutAt: null,
};
