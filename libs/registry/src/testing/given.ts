import { randomUUID } from 'node:crypto';
import type { Registration } from '../agents/registration/registration.js';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import type { Budget } from '../budgets/budget.js';
import type { BudgetRequest } from '../budgets/budgets.service.js';
import { NO_REPORTS } from '../budgets/ledger/reported.usage.js';
import type { ReserveRequest, Scopes } from '../budgets/ledger/reservation.js';
import { entry } from './directory-entries.js';

/**
 * Builders of valid documents: a test states only what matters to it. `TestRegistry.given` has these builders, and others
 * that write to Postgres; the end-to-end tests have `api.given`.
 */
export const given = { registration, entry, budgetRequest, reservation, budgetState };

function registration(overrides: Partial<Registration> = {}): Registration {
  return {
    name: 'swarm-builder',
    endpoint: 'http://localhost:5091',
    work: 'push',
    idempotent: false,
    agentCard: null,
    capabilities: ['build'],
    sandboxLevel: 2,
    provider: { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' },
    budget: { totalTokens: 500_000, usedTokens: 0, source: 'langfuse' },
    costModel: { usdPerTask: 0, usdPer1kTokens: null },
    capacity: null,
    declaredMs: null,
    typicalTokens: null,
    version: null,
    definition: null,
    labels: {},
    ...overrides,
  };
}

/** A request for the budget of a namespace, by default of `default`. */
function budgetRequest(tokens: number | null, overrides: Partial<BudgetRequest> = {}): BudgetRequest {
  return { kind: 'namespace', subject: DEFAULT_NAMESPACE, limit: { tokens, microUsd: null }, by: 'test', ...overrides };
}

/** A request for a reservation, by default with a new key. */
function reservation(
  tokens: number,
  overrides: Partial<Omit<ReserveRequest, 'scopes'>> & Partial<Scopes> = {},
): ReserveRequest {
  const { agentId = null, callerId = null, runId = null, ...rest } = overrides;
  const scopes = { agentId, callerId, runId };
  return { owner: 'test', key: randomUUID(), amount: { tokens, microUsd: 0 }, ttlMs: 60_000, ...rest, scopes };
}

/** A budget as the arithmetic sees it, unlimited and unused by default. */
function budgetState(overrides: Partial<Budget> = {}): Budget {
  const none = { tokens: null, microUsd: null };
  const zero = { tokens: 0, microUsd: 0 };
  return {
    id: 1,
    kind: 'namespace',
    subject: DEFAULT_NAMESPACE,
    window: 'total',
    timeZone: 'UTC',
    path: [],
    limit: none,
    low: none,
    used: zero,
    own: zero,
    reserved: zero,
    reports: NO_REPORTS,
    windowStart: 0,
    windowEnd: null,
    source: 'ledger',
    declared: false,
    version: 1,
    ...overrides,
  };
}
