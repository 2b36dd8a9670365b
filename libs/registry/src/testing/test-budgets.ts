import { randomUUID } from 'node:crypto';
import type { Database } from '#rollcall/platform';
import { type TestEvents, testEvents } from '#rollcall/platform/testing';
import { FLEET, type Budget } from '../budgets/budget.js';
import { RegistryBudgets, type RegistryBudgetsOptions } from '../budgets/registry.budgets.js';
import type { BudgetWish } from '../budgets/budgets.service.js';
import type { ReserveAsk, Scopes } from '../budgets/reservation.js';

export interface TestBudgets extends RegistryBudgets {
  feed: TestEvents;
}

/** The ledger of one replica on this database; nothing runs by itself. */
export function testBudgets(db: Database, options: RegistryBudgetsOptions = {}): TestBudgets {
  const feed = testEvents(db);
  return Object.assign(new RegistryBudgets(db, feed, options), { feed });
}

/** A budget for tokens of the fleet, unless told otherwise. */
export function aBudget(tokens: number | null, wishes: Partial<BudgetWish> = {}): BudgetWish {
  return { kind: 'fleet', subject: FLEET, limit: { tokens, microUsd: null }, by: 'test', ...wishes };
}

export function anAsk(tokens: number, wishes: Partial<Omit<ReserveAsk, 'scopes'>> & Partial<Scopes> = {}): ReserveAsk {
  const { agentId = null, callerId = null, runId = null, ...rest } = wishes;
  const scopes = { agentId, callerId, runId };
  return { owner: 'test', key: randomUUID(), amount: { tokens, microUsd: 0 }, ttlMs: 60_000, ...rest, scopes };
}

/** A budget as arithmetic has it, without a database. */
export function aBudgetState(wishes: Partial<Budget> = {}): Budget {
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
    ...wishes,
  };
}
