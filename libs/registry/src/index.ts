export { RegistryError, type RegistryErrorCode } from './errors.js';
export { REGISTRY_EVENTS } from './event.types.js';
export { RegistryModule } from './registry.module.js';
export type { RegistryOptions } from './registry.options.js';
export { REGISTRY_SCHEMA } from './schema.js';
export type { AgentCredential, LeaseCredential } from './agents/agent.credential.js';
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
  DEREGISTRATION_REASONS,
  type DeregistrationReason,
  DESIRED_STATES,
  type DesiredState,
  type HealthState,
  LEAVE_REASONS,
  type LeaveReason,
  WORK_MODES,
  type WorkMode,
} from './agents/agent.record.js';
export { type AgentSnapshot, AgentSnapshots } from './agents/agent.snapshots.js';
export { AgentsService, type JoinRequest } from './agents/agents.service.js';
export { hashOfToken, isLeaseToken, LeaseTokenStore } from './agents/lease-token.store.js';
export type { Joined, JoinResult } from './agents/registration/registration.group.js';
export { ReservedNames } from './agents/registration/reserved.names.js';
export { type AgentUpdate, MAX_LABELS, type Registration } from './agents/registration/registration.js';
export type { VersionedAgent } from './agents/registration/update.group.js';
export { BudgetExhaustedError, BudgetNotFoundError, PriceUnknownError } from './budgets/budget.errors.js';
export {
  type Amount,
  available,
  type Budget,
  BUDGET_KINDS,
  type BudgetCondition,
  type BudgetKind,
  conditionOf,
  DEFAULT_LOW_BUDGET,
  FLEET,
  type Limit,
  type LowBudgetPolicy,
  MAX_AMOUNT,
  namespaceOfBudget,
} from './budgets/budget.js';
export { BUDGET_WINDOWS, type BudgetWindow } from './budgets/budget.window.js';
export { BudgetsService } from './budgets/budgets.service.js';
export type { Forecast, UnitForecast } from './budgets/forecast.js';
export { BudgetLedger } from './budgets/ledger/budget.ledger.js';
export { LedgerBatch, type LockedReservation } from './budgets/ledger/ledger.batch.js';
export {
  ENTRY_KINDS,
  isRejectedReservation,
  type LedgerOp,
  type LedgerOutcome,
  type ReservationKey,
} from './budgets/ledger/ledger.operation.js';
export { type LedgerSession, repeatIfTaken } from './budgets/ledger/ledger.session.js';
export {
  DEFAULT_TTL_MS,
  MAX_TTL_MS,
  type Reservation,
  type ReservationState,
  type Scopes,
  type Usage,
} from './budgets/ledger/reservation.js';
export { DEFAULT_SPENDING_LIMITS, type Spender } from './budgets/ledger/spending.limits.js';
export type { LedgerEntryEntity } from './budgets/store/budget.entities.js';
export { BudgetStatus } from './budgets/store/budget.status.js';
export type { BudgetReading } from './budgets/store/budget.store.js';
export { type Discrepancy, type Reconciliation, ReconciliationStore } from './budgets/store/reconciliation.store.js';
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
export { CircuitOpenError, CircuitService, type CircuitView, type ProbePermit } from './circuit/circuit.service.js';
export { KEPT_OUTCOMES, type ReportedOutcome, type Reporter } from './circuit/outcome.js';
export { CONTRACT_STATES, type ContractState, EXPIRY_REASONS, type ExpiryReason } from './contracts/auction/auction.js';
export { MAX_ETA_MS } from './contracts/auction/bid.js';
export { type BidRequest, ContractBidding } from './contracts/auction/contract.bidding.js';
export {
  type BidScore,
  type Contender,
  DEFAULT_WEIGHTS,
  type ScoringRule,
  WEIGHTED_RULE,
} from './contracts/auction/scoring.js';
export { ContractCounts } from './contracts/contract.events.js';
export type { Announcement, Contract, Participant } from './contracts/contract.js';
export { ContractOutcomes } from './contracts/contract.outcomes.js';
export { ContractSelection, DEFAULT_SELECTION_MS } from './contracts/contract.selection.js';
export {
  type ContractActor,
  type ContractReading,
  ContractsService,
  MAX_TASK_LENGTH,
  MAX_WINDOW_MS,
  MIN_WINDOW_MS,
} from './contracts/contracts.service.js';
export { ContractDispatcher } from './contracts/invitations/contract.dispatcher.js';
export { MAX_INVITED } from './contracts/invitations/contract.invitees.js';
export {
  ContractInviters,
  type ContractNotice,
  type Inviter,
  type NoticeView,
  toNoticeView,
} from './contracts/invitations/contract.inviters.js';
export { TRANSCRIPT_KINDS, type TranscriptKind } from './contracts/store/transcript.store.js';
export { CapabilityAliasError, CapabilityAliases } from './discovery/capabilities/capability.aliases.js';
export {
  capabilityFault,
  capabilityKeys,
  MAX_CAPABILITY_KEYS,
  normaliseCapability,
} from './discovery/capabilities/capability.js';
export { type SearchableWords, searchableWords, TextIndex } from './discovery/capabilities/text.relevance.js';
export type { DirectoryEntry } from './discovery/directory/directory.entry.js';
export { DEFAULT_FOLLOWER_OPTIONS, DirectoryFollower } from './discovery/directory/directory.follower.js';
export { Directory, type LabelledAgent } from './discovery/directory/directory.js';
export { RegistryClock } from './discovery/directory/registry.clock.js';
export { StrongReader } from './discovery/directory/strong.reader.js';
export { type AgentQuery, CONTRACT_NET, MAX_CAPABILITIES, MAX_LIMIT } from './discovery/ranking/agent.query.js';
export type { Assessment, CandidateMark } from './discovery/ranking/assessment.js';
export type { QueryPlan } from './discovery/ranking/query.plan.js';
export { Ranker } from './discovery/ranking/ranker.js';
export type { AboutAgent, ExcludedAgent, RankedCandidate, Ranking } from './discovery/ranking/ranking.js';
export { defaultStrategies, GuardedStrategy, type ScoredStrategy } from './discovery/ranking/strategies.js';
export { type Exclusion, type ExclusionCode, operatorIntent, routability } from './discovery/ranking/routability.js';
export { DEFAULT_FLAP_POLICY, NEVER_FLAPPED } from './leases/flap.damping.js';
export { type BeatResult, HeartbeatBatcher } from './leases/heartbeat.batcher.js';
export { DEFAULT_LEASE_POLICY, type LeasePolicy, leaseTtlMs, nextIntervalMs } from './leases/lease.policy.js';
export type { Heartbeat } from './leases/lease.store.js';
export { DEFAULT_PROTECTION_POLICY, type ProtectionOverride } from './leases/protection.state.js';
export { type Protection, ProtectionStore } from './leases/protection.store.js';
export type { ProtectionExplanation } from './leases/self-preservation.js';
