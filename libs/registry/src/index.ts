export { REGISTRY_EVENTS } from './event.types.js';
export { REGISTRY_SCHEMA } from './schema.js';
export { RegistryModule } from './registry.module.js';
export type { BudgetRules, RegistryOptions } from './registry.options.js';
export { RegistryError, type RegistryErrorCode } from './errors.js';
export {
  AgentAlreadyRegisteredError,
  AgentNotFoundError,
  LeaseTokenError,
  RegisterAgainError,
  StaleGenerationError,
} from './agents/agent.errors.js';
export {
  agentBudget,
  type AgentBudget,
  type AgentHealth,
  type AgentLatency,
  agentLoad,
  type AgentLoad,
  type AgentProviderFacts,
  type AgentRecord,
  type AgentStatus,
  type CostModel,
  DESIRED_STATES,
  type DesiredState,
  type DeregistrationReason,
  DEREGISTRATION_REASONS,
  type HealthState,
  LEAVE_REASONS,
  type LeaveReason,
} from './agents/agent.record.js';
export { AgentsService, type VersionedAgent, type JoinRequest } from './agents/agents.service.js';
export { hashOfToken, isLeaseToken } from './agents/lease.token.js';
export { LeaseTokenStore } from './agents/lease-token.store.js';
export { type AgentUpdate, MAX_LABELS } from './agents/agent.update.js';
export type { AgentClaim, LeaseClaim, Registration } from './agents/registration.js';
export { CircuitOpenError } from './circuit/circuit.errors.js';
export { CircuitService, type CircuitView, type ProbeClaim } from './circuit/circuit.service.js';
export { KEPT_OUTCOMES, type ReportedOutcome, type Reporter } from './circuit/outcome.js';
export { RegistryClock } from './discovery/registry.clock.js';
export { StrongReader } from './discovery/strong.reader.js';
export { DirectoryFollower, DEFAULT_FOLLOWER_OPTIONS } from './discovery/directory.follower.js';
export { HeartbeatBatcher } from './leases/heartbeat.batcher.js';
export type { BeatResult, Heartbeat } from './leases/heartbeat.js';
export {
  type Amount,
  available,
  type Budget,
  BUDGET_KINDS,
  type BudgetCondition,
  type BudgetKind,
  conditionOf,
  FLEET,
  MAX_AMOUNT,
  type Limit,
  type LowBudgetPolicy,
  namespaceOfBudget,
  DEFAULT_LOW_BUDGET,
} from './budgets/budget.js';
export { BudgetExhaustedError, BudgetNotFoundError, PriceUnknownError } from './budgets/budget.errors.js';
export { BudgetStatus } from './budgets/budget.status.js';
export { BudgetLedger } from './budgets/budget.ledger.js';
export {
  isRejectedReservation,
  LedgerBatch,
  type LedgerOp,
  type LockedReservation,
  type ReservationKey,
} from './budgets/ledger.batch.js';
export type { LedgerOutcome } from './budgets/ledger.outcome.js';
export { type LedgerSession, repeatIfTaken } from './budgets/ledger.session.js';
export type { BudgetReading } from './budgets/budget.store.js';
export { BUDGET_WINDOWS, type BudgetWindow } from './budgets/budget.window.js';
export { BudgetsService } from './budgets/budgets.service.js';
export type { Forecast, UnitForecast } from './budgets/forecast.js';
export type { LedgerEntryEntity } from './budgets/ledger-entry.entity.js';
export { ENTRY_KINDS } from './budgets/ledger.entry.js';
export { type Discrepancy, type Reconciliation, ReconciliationStore } from './budgets/reconciliation.store.js';
export {
  MAX_TTL_MS,
  type Reservation,
  type ReservationState,
  type Scopes,
  type Usage,
  DEFAULT_TTL_MS,
} from './budgets/reservation.js';
export type { BudgetSource } from './budgets/usage.refresher.js';
export {
  type CircuitPhase,
  type CircuitPolicy,
  type CircuitState,
  CLOSED_CIRCUIT,
  DEFAULT_CIRCUIT_POLICY,
  nextCircuitChange,
  stepCircuit,
} from './circuit/circuit.breaker.js';
export { type AgentQuery, CONTRACT_NET, MAX_LIMIT, MAX_CAPABILITIES } from './discovery/agent.query.js';
export type { CandidateMark } from './discovery/assessment.js';
export { CapabilityAliases } from './discovery/capability.aliases.js';
export { capabilityKeys, MAX_CAPABILITY_KEYS, normaliseCapability } from './discovery/capability.js';
export { claimFault } from './discovery/capability.claim.js';
export { Directory, type DirectoryOptions, type LabelledAgent } from './discovery/directory.js';
export type { DirectoryEntry } from './discovery/directory.entry.js';
export { CapabilityAliasError } from './discovery/discovery.errors.js';
export type { QueryPlan } from './discovery/query.plan.js';
export { Ranker } from './discovery/ranker.js';
export type { ExcludedAgent, RankedCandidate, Ranking } from './discovery/ranking.js';
export { type SearchableWords, searchableWords, TextQuery } from './discovery/text.relevance.js';
export { type Exclusion, type ExclusionCode, routability } from './discovery/routability.js';
export { type FlapPolicy, flapPolicyFaults, NEVER_FLAPPED, DEFAULT_FLAP_POLICY } from './leases/flap.damping.js';
export { type LeasePolicy, leaseTtlMs, nextIntervalMs, DEFAULT_LEASE_POLICY } from './leases/lease.policy.js';
export type { ProtectionExplanation } from './leases/protection.explanation.js';
export {
  type ProtectionOverride,
  type ProtectionPolicy,
  DEFAULT_PROTECTION_POLICY,
} from './leases/protection.state.js';
export { CONTRACT_STATES, type ContractState, EXPIRY_REASONS, type ExpiryReason } from './contracts/auction/auction.js';
export { MAX_TASK_LENGTH, MAX_WINDOW_MS, MIN_WINDOW_MS } from './contracts/contracts.service.js';
export { MAX_ETA_MS } from './contracts/auction/bid.js';
export type { BidRequest } from './contracts/auction/contract.bidding.js';
export { ContractBidding } from './contracts/auction/contract.bidding.js';
export { type Announcement, type Contract, type Participant } from './contracts/contract.js';
export { TRANSCRIPT_KINDS, type TranscriptKind } from './contracts/store/transcript.store.js';
export { ContractCounts } from './contracts/contract.events.js';
export { ContractDispatcher } from './contracts/invitations/contract.dispatcher.js';
export { MAX_INVITED } from './contracts/invitations/contract.invitees.js';
export { ContractInviters } from './contracts/invitations/contract.inviters.js';
export {
  type ContractNotice,
  type Inviter,
  type NoticeView,
  toNoticeView,
} from './contracts/invitations/contract.inviters.js';
export { ContractSelection, DEFAULT_SELECTION_MS } from './contracts/contract.selection.js';
export { ContractOutcomes } from './contracts/contract.outcomes.js';
export { type ContractActor, type ContractReading, ContractsService } from './contracts/contracts.service.js';
export { DEFAULT_WEIGHTS } from './contracts/auction/scoring.js';
export { type Spender, DEFAULT_SPENDING_LIMITS } from './budgets/spending.limits.js';
export { type AgentSnapshot, AgentSnapshots } from './agents/agent.snapshots.js';
export { type Protection, ProtectionStore } from './leases/protection.store.js';
export type { JoinResult, Joined } from './agents/registration.group.js';
