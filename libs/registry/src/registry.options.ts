import type { Quota } from '#rollcall/platform';
import type { LowBudgetPolicy } from './budgets/budget.js';
import type { BudgetRetention } from './budgets/budget.sweeper.js';
import type { SpendingLimits } from './budgets/ledger/spending.limits.js';
import type { UsageOptions } from './budgets/usage.refresher.js';
import { type CircuitPolicy, circuitPolicyFaults } from './circuit/circuit.breaker.js';
import type { ScoringRule } from './contracts/auction/scoring.js';
import type { FollowerOptions } from './discovery/directory/directory.follower.js';
import type { DirectoryOptions } from './discovery/directory/directory.js';
import type { SelectionStrategy } from './discovery/ranking/strategies.js';
import { SWEEP_EVERY_MS } from './leases/eviction.sweeper.js';
import { type FlapPolicy, flapPolicyFaults } from './leases/flap.damping.js';
import { type LeasePolicy, leasePolicyFaults } from './leases/lease.policy.js';
import { type ProtectionPolicy, protectionPolicyFaults } from './leases/protection.state.js';

export interface RegistryOptions {
  lease: LeasePolicy;
  protection: ProtectionPolicy;
  circuit: CircuitPolicy;
  flap: FlapPolicy;
  /** How long history is kept. */
  retention: Retention;
  /** Without `lowBudget`: the directory uses `budgets.low`. */
  directory?: Omit<DirectoryOptions, 'lowBudget'>;
  budgets?: BudgetRules;
  follower?: Partial<FollowerOptions>;
  /** How many live agents one principal may have. */
  agentQuota?: Quota;
  usage?: UsageOptions;
  contracts?: ContractOptions;
  /** More strategies, which queries can name. */
  strategies?: readonly SelectionStrategy[];
}

interface Retention extends BudgetRetention {
  /** How long the rows of agents that left are kept. */
  leftAgentsMs: number;
  /** How long contracts that ended are kept, with their transcripts. */
  contractsMs: number;
}

export interface ContractOptions {
  /** More scoring rules, which announcements can name. */
  scoring?: readonly ScoringRule[];
  /** How many open contracts one principal may have. */
  quota?: Quota;
}

export interface BudgetRules {
  low?: LowBudgetPolicy;
  limits?: SpendingLimits;
  /** How many levels a tree of runs may have; 0 means no limit. */
  runDepth?: number;
  /** How many reservations one owner may hold. */
  heldQuota?: Quota;
  /** The percentage of a shared budget that one owner may hold, unless it is trusted. */
  share?: Quota;
  /** Replaces the clock of the database in tests. */
  clock?: () => number;
}

/** The injection token of `RegistryOptions`. */
export const REGISTRY_OPTIONS = Symbol('registry options');

/** Throws an error that lists every fault of the lease, protection, circuit and flap policies. */
export function checkOptions({ lease, protection, circuit, flap }: RegistryOptions): void {
  const faults = [
    // sweeps start every SWEEP_EVERY_MS, and a sweep that follows another one too early is skipped
    ...leasePolicyFaults(lease, Math.max(SWEEP_EVERY_MS, protection.sweepEveryMs)),
    ...protectionPolicyFaults(protection),
    ...circuitPolicyFaults(circuit),
    ...flapPolicyFaults(flap),
  ];
  if (faults.length > 0) throw new Error(`The options of RegistryModule are invalid: ${faults.join('; ')}`);
}
