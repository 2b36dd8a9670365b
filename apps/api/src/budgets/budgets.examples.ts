import type { OpenBudgetBody, OpenRunBody, TopUpBody } from './budgets.dto.js';
import type { ReserveBody, SettleBody } from './reservations.dto.js';

/** Examples for bodies whose fields exclude each other. Each example works after the examples before it were sent. */
export const OPEN_BUDGET_EXAMPLES = {
  agent: {
    summary: 'An agent, daily',
    value: {
      kind: 'agent',
      subject: 'builder-01',
      window: 'daily',
      timeZone: 'Europe/Berlin',
      limit: { tokens: 500_000, microUsd: 20_000_000 },
      low: { tokens: 50_000 },
    } satisfies OpenBudgetBody,
  },
  namespace: {
    summary: 'The namespace, monthly',
    value: { kind: 'namespace', window: 'monthly', limit: { microUsd: 5_000_000_000 } } satisfies OpenBudgetBody,
  },
  fleet: {
    summary: 'All namespaces, monthly',
    value: { kind: 'fleet', window: 'monthly', limit: { microUsd: 20_000_000_000 } } satisfies OpenBudgetBody,
  },
};

export const OPEN_RUN_EXAMPLES = {
  root: { summary: 'A root run', value: { runId: 'run-7', limit: { tokens: 200_000 } } satisfies OpenRunBody },
  child: {
    summary: 'A run that the root delegates',
    value: { runId: 'run-8', parentRunId: 'run-7' } satisfies OpenRunBody,
  },
};

export const TOP_UP_EXAMPLES = {
  tokens: { summary: 'Tokens', value: { tokens: 100_000, note: 'for the release' } satisfies TopUpBody },
};

export const RESERVE_EXAMPLES = {
  agent: {
    summary: 'A call by an agent',
    value: { key: 'call-1', agentId: 'builder-01', tokens: 4_000, microUsd: 60_000 } satisfies ReserveBody,
  },
  run: {
    summary: 'A call in a run',
    value: { key: 'run-7/turn-3', runId: 'run-7', tokens: 4_000, atLeastTokens: 500 } satisfies ReserveBody,
  },
};

export const SETTLE_EXAMPLES = {
  counted: { summary: 'A known usage', value: { tokens: 1_500, microUsd: 22_500 } satisfies SettleBody },
  vendor: {
    summary: 'The usage as the vendor reports it',
    value: { usage: { inputTokens: 1_200, outputTokens: 300, cacheReadTokens: 900 } } satisfies SettleBody,
  },
  unknown: { summary: 'An unknown usage', value: {} satisfies SettleBody },
};
