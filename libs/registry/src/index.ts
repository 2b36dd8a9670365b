export { REGISTRY_EVENTS, type RegistryEventPayloads } from './event.types.js';
export { REGISTRY_SCHEMA } from './schema.js';
export { RegistryError, type RegistryErrorCode } from './errors.js';
export {
  AgentAlreadyRegisteredError,
  AgentChangedError,
  AgentNotFoundError,
  GenerationAheadError,
  LeaseTokenError,
  RegisterAgainError,
  StaleGenerationError,
  TooManyLabelsError,
} from './agents/agent.errors.js';
export * from './agents/agent.record.js';
export {
  AgentsService,
  type Joined,
  type JoinRequest,
  type JoinResult,
  type VersionedAgent,
} from './agents/agents.service.js';
export { hashOfToken, isLeaseToken } from './agents/lease.token.js';
export { LeaseTokenStore } from './agents/lease-token.store.js';
export { LiveRegistry, type LiveRegistryOptions } from './agents/live.registry.js';
export { MOST_LABELS, type AgentUpdate } from './agents/agent.update.js';
export type { AgentClaim, LeaseClaim, Registration } from './agents/registration.js';
export { CircuitOpenError } from './circuit/circuit.errors.js';
export { CircuitService, type CallOutcome, type CircuitView, type ProbeClaim } from './circuit/circuit.service.js';
export { RegistryClock } from './discovery/registry.clock.js';
export { StrongReader } from './discovery/strong.reader.js';
export { USUAL_FOLLOWER_OPTIONS } from './discovery/directory.follower.js';
export { DirectorySync } from './discovery/directory.sync.js';
export { EvictionSweeper, type SweepResult } from './leases/eviction.sweeper.js';
export { HeartbeatBatcher } from './leases/heartbeat.batcher.js';
export type { BeatResult, Heartbeat } from './leases/heartbeat.js';
export * from './budgets/budget.js';
export * from './budgets/budget.errors.js';
export { BudgetLedger } from './budgets/budget.ledger.js';
export type { BudgetFilter, BudgetReading } from './budgets/budget.store.js';
export type { BudgetRetention, BudgetSweep } from './budgets/budget.sweeper.js';
export { BUDGET_WINDOWS, isTimeZone, nextWindow, type BudgetWindow } from './budgets/budget.window.js';
export { BudgetsService, type BudgetWish } from './budgets/budgets.service.js';
export type { Forecast, UnitForecast } from './budgets/forecast.js';
export type { LedgerEntryEntity } from './budgets/ledger-entry.entity.js';
export { ENTRY_KINDS, type EntryKind, type ChargeMark } from './budgets/ledger.entry.js';
export type { Discrepancy, Reconciliation } from './budgets/reconciliation.store.js';
export { RegistryBudgets, type RegistryBudgetsOptions } from './budgets/registry.budgets.js';
export * from './budgets/reservation.js';
export type { BudgetSource, RefreshResult, ReportedUsage, UsageQuestion } from './budgets/usage.refresher.js';
export * from './circuit/circuit.breaker.js';
export {
  LARGEST_LIMIT,
  MOST_CAPABILITIES,
  USUAL_LIMIT,
  USUAL_STRATEGY,
  type AgentFilter,
  type AgentQuery,
  type CapabilitySets,
} from './discovery/agent.query.js';
export { assess, STANDINGS, type Assessment, type CandidateMark, type Standing } from './discovery/assessment.js';
export { CapabilityAliases } from './discovery/capability.aliases.js';
export {
  answers,
  capabilityKeys,
  MOST_CAPABILITY_KEYS,
  normaliseCapability,
  withContainers,
} from './discovery/capability.js';
export { Directory, type DirectoryOptions } from './discovery/directory.js';
export { isNewer, type DirectoryEntry, type Revision, type Vitals } from './discovery/directory.entry.js';
export { CapabilityAliasError, InvalidQueryError, UnknownStrategyError } from './discovery/discovery.errors.js';
export { Ranker } from './discovery/ranker.js';
export type { CandidateView, ExcludedAgent, RankedCandidate, Ranking } from './discovery/ranking.js';
export {
  isLowBudget,
  isRoutable,
  nextChangeAt,
  routability,
  type Exclusion,
  type ExclusionCode,
} from './discovery/routability.js';
export { CheapestStrategy } from './discovery/strategies/cheapest.strategy.js';
export { FastestStrategy } from './discovery/strategies/fastest.strategy.js';
export { LeastLoadedStrategy } from './discovery/strategies/least-loaded.strategy.js';
export { RoundRobinStrategy } from './discovery/strategies/round-robin.strategy.js';
export { compareNumbers, type SelectionStrategy } from './discovery/strategies/selection.strategy.js';
export { Strategies, usualStrategies } from './discovery/strategies/strategies.js';
export * from './leases/flap.damping.js';
export * from './leases/lease.policy.js';
export type { ProtectionExplanation } from './leases/protection.explanation.js';
export { USUAL_PROTECTION_POLICY, type ProtectionOverride, type ProtectionPolicy } from './leases/protection.state.js';
export { type Quota, QuotaExceededError } from './quota.js';
export { type Spender, type SpendingLimits, USUAL_SPENDING_LIMITS } from './budgets/spending.limits.js';
export { AgentSnapshots, SnapshotsBusyError, type AgentSnapshot } from './agents/agent.snapshots.js';
export { ProtectionStore, type Protection } from './leases/protection.store.js';
