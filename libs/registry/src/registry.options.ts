import type { LowBudgetPolicy } from './budgets/budget.js';
import type { BudgetRetention } from './budgets/budget.sweeper.js';
import type { SpendingLimits } from './budgets/spending.limits.js';
import type { BudgetSource } from './budgets/usage.refresher.js';
import type { CircuitPolicy } from './circuit/circuit.breaker.js';
import type { DirectoryOptions } from './discovery/directory.js';
import type { FollowerOptions } from './discovery/directory.follower.js';
import type { FlapPolicy } from './leases/flap.damping.js';
import type { LeasePolicy } from './leases/lease.policy.js';
import type { ProtectionPolicy } from './leases/protection.state.js';
import type { Quota } from '#rollcall/platform';

export interface RegistryOptions {
  lease: LeasePolicy;
  protection: ProtectionPolicy;
  circuit: CircuitPolicy;
  flap: FlapPolicy;
  /** How long history is kept. */
  retention: Retention;
  /** Low budgets are defined by `budgets.low`. */
  directory?: Omit<DirectoryOptions, 'lowBudget'>;
  budgets?: BudgetRules;
  follower?: Partial<FollowerOptions>;
  /** The most live agents that one principal may have registered. */
  agentQuota?: Quota;
  usage?: UsageOptions;
}

export interface Retention extends BudgetRetention {
  /** Of agents that have left. */
  leftAgentsMs: number;
}

export interface BudgetRules {
  low?: LowBudgetPolicy;
  limits?: SpendingLimits;
  /** Levels of a tree of runs; 0 means no limit. */
  runDepth?: number;
  /** The most reservations that one owner may hold. */
  heldQuota?: Quota;
  /** For tests that move the time. */
  clock?: () => number;
}

export interface UsageOptions {
  sources: readonly BudgetSource[];
  refreshEveryMs: number;
}

/** Injection token of `RegistryOptions`. */
export const REGISTRY_OPTIONS = Symbol('registry options');
