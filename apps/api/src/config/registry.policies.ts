import {
  CapabilityAliases,
  type CircuitPolicy,
  type DirectoryOptions,
  type FlapPolicy,
  type LeasePolicy,
  type LowBudgetPolicy,
  type BudgetRules,
  type ProtectionPolicy,
  type RegistryOptions,
  DEFAULT_LEASE_POLICY,
  DEFAULT_PROTECTION_POLICY,
} from '#rollcall/registry';
import type { Config } from './config.schema.js';

/** Penalties are counted in thousandths of a flap. */
const PENALTY_PER_FLAP = 1_000;

/** Maps the settings to the policies of the registry. */
export function registryPolicies(config: Config): Omit<RegistryOptions, 'retention' | 'usage'> {
  return {
    lease: leasePolicy(config),
    protection: protectionPolicy(config),
    circuit: circuitPolicy(config),
    flap: flapPolicy(config),
    directory: directoryOptions(config),
    budgets: budgetRules(config),
    contracts: { quota: { limit: config.quotas.contracts, setting: 'ROLLCALL_QUOTA_CONTRACTS' } },
    agentQuota: { limit: config.quotas.agents, setting: 'ROLLCALL_QUOTA_AGENTS' },
    // two clocks, because only Date.now() continues while the machine sleeps
    follower: { staleMs: config.discovery.staleAfter, clocks: [() => performance.now(), () => Date.now()] },
  };
}

/** Throws a CapabilityAliasError when the aliases contradict each other. */
export function directoryOptions({ discovery }: Config): DirectoryOptions {
  return { aliases: new CapabilityAliases(discovery.aliases) };
}

export function budgetRules({ budgets, quotas }: Config): BudgetRules & { low: LowBudgetPolicy } {
  const { lowPercent, lowTokens, settleMultiple, largestTokens, largestMicroUsd, longestReservation, runDepth } =
    budgets;
  const largest = { tokens: largestTokens, microUsd: largestMicroUsd };
  return {
    low: { fraction: lowPercent / 100, tokens: lowTokens },
    limits: { settleMultiple, largest, longestMs: longestReservation },
    runDepth,
    heldQuota: { limit: quotas.reservations, setting: 'ROLLCALL_QUOTA_RESERVATIONS' },
  };
}

export function leasePolicy({ registry }: Config): LeasePolicy {
  return { ...DEFAULT_LEASE_POLICY, intervalMs: registry.heartbeatEvery, missesUntilEvicted: registry.missedBeats };
}

function protectionPolicy({ protection }: Config): ProtectionPolicy {
  const { percent, fewest, longest, evictionsPerMinute } = protection;
  return { ...DEFAULT_PROTECTION_POLICY, threshold: percent / 100, fewest, longestMs: longest, evictionsPerMinute };
}

function circuitPolicy({ circuit }: Config): CircuitPolicy {
  const { failures, coolDown, backOff, longestCoolDown, probe } = circuit;
  return {
    failuresToOpen: failures,
    coolDownMs: coolDown,
    backOff,
    longestCoolDownMs: longestCoolDown,
    probeMs: probe,
  };
}

export function flapPolicy({ flapping }: Config): FlapPolicy {
  const { suppressAt, reuseBelow, halfLife, longest } = flapping;
  return {
    penaltyPerFlap: PENALTY_PER_FLAP,
    suppressAt: suppressAt * PENALTY_PER_FLAP,
    reuseBelow: reuseBelow * PENALTY_PER_FLAP,
    halfLifeMs: halfLife,
    longestMs: longest,
  };
}
