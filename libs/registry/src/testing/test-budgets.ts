import { randomUUID } from 'node:crypto';
import type { Database } from '#rollcall/platform';
import { eventsOf, type TestEvents } from '#rollcall/platform/testing';
import { FLEET, type Budget } from '../budgets/budget.js';
import type { BudgetRequest } from '../budgets/budgets.service.js';
import type { ReserveRequest, Scopes } from '../budgets/reservation.js';
import type { BudgetRules } from '../registry.options.js';
import { type BudgetParts, budgetsOf } from './budget-parts.js';
import { registryModule } from './test-registry.js';

export interface TestBudgets extends BudgetParts {
  feed: TestEvents;
}

/** The budget services of one replica on this database. No periodic work runs. */
export async function testBudgets(db: Database, budgets: BudgetRules = {}): Promise<TestBudgets> {
  const module = await registryModule(db, { budgets });
  return { ...budgetsOf(module), feed: eventsOf(module) };
}

/** A request for a token budget of the fleet, with overrides. */
export function aBudget(tokens: number | null, overrides: Partial<BudgetRequest> = {}): BudgetRequest {
  return { kind: 'fleet', subject: FLEET, limit: { tokens, microUsd: null }, by: 'test', ...overrides };
}

export function aReserveRequest(
  tokens: number,
  overrides: Partial<Omit<ReserveRequest, 'scopes'>> & Partial<Scopes> = {},
): ReserveRequest {
  const { agentId = null, callerId = null, runId = null, ...rest } = overrides;
  const scopes = { agentId, callerId, runId };
  return { owner: 'test', key: randomUUID(), amount: { tokens, microUsd: 0 }, ttlMs: 60_000, ...rest, scopes };
}

/** A budget for tests of pure functions, without a database. */
export function aBudgetState(overrides: Partial<Budget> = {}): Budget {
  const none = { tokens: null, microUsd: null };
  const zero = { tokens: 0, microUsd: 0 };
  return {
    id: 1,
    kind: 'fleet',
    subject: FLEET,
    window: 'total',
    timeZone: 'UTC',
    path: [],
    limit: none,
    low: none,
    used: zero,
    own: zero,
    reserved: zero,
    windowStart: 0,
    windowEnd: null,
    source: 'ledger',
    declared: false,
    version: 1,
    ...overrides,
  };
}
