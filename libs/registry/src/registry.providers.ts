import type { FactoryProvider, Provider } from '@nestjs/common';
import {
  BackgroundFaults,
  Database,
  EventFeed,
  EventLog,
  EventOutbox,
  NamespaceAdmission,
  NamespaceCatalog,
  NamespaceContents,
  NO_QUOTA,
} from '#rollcall/platform';
import { AgentEvents } from './agents/agent.events.js';
import { AgentSnapshots } from './agents/agent.snapshots.js';
import { AgentStore } from './agents/agent.store.js';
import { AgentsService } from './agents/agents.service.js';
import { LeaseTokenStore } from './agents/lease-token.store.js';
import { RegistrationGroup, RegistrationWriter } from './agents/registration/registration.group.js';
import { RegistrationStore } from './agents/registration/registration.store.js';
import { ReservedNames } from './agents/registration/reserved.names.js';
import { UpdateGroup } from './agents/registration/update.group.js';
import { AgentBudgets } from './budgets/agent.budgets.js';
import { BudgetEvents } from './budgets/budget.events.js';
import { DEFAULT_LOW_BUDGET } from './budgets/budget.js';
import { BudgetSweeper } from './budgets/budget.sweeper.js';
import { BudgetsService } from './budgets/budgets.service.js';
import { BudgetLedger } from './budgets/ledger/budget.ledger.js';
import { DEFAULT_SPENDING_LIMITS } from './budgets/ledger/spending.limits.js';
import { BudgetStatus } from './budgets/store/budget.status.js';
import { BudgetStore } from './budgets/store/budget.store.js';
import { LedgerStore } from './budgets/store/ledger.store.js';
import { ReconciliationStore } from './budgets/store/reconciliation.store.js';
import { UsageLoops, type UsageOptions, UsageRefresher } from './budgets/usage.refresher.js';
import { CircuitService } from './circuit/circuit.service.js';
import { CircuitStore } from './circuit/circuit.store.js';
import { ContractAwards } from './contracts/auction/contract.awards.js';
import { ContractBidding } from './contracts/auction/contract.bidding.js';
import { ContractCloser } from './contracts/auction/contract.closer.js';
import { ContractReservations } from './contracts/auction/contract.reservations.js';
import { ScoringRules } from './contracts/auction/scoring.js';
import { ContractCounts, ContractEvents } from './contracts/contract.events.js';
import { ContractOutcomes } from './contracts/contract.outcomes.js';
import { ContractSelection, ContractWaits } from './contracts/contract.selection.js';
import { ContractAdmission, ContractsService } from './contracts/contracts.service.js';
import { ContractDispatcher } from './contracts/invitations/contract.dispatcher.js';
import { ContractInvitees } from './contracts/invitations/contract.invitees.js';
import { ContractInviters } from './contracts/invitations/contract.inviters.js';
import { NoticeSender } from './contracts/invitations/notice.sender.js';
import { AttendanceStore } from './contracts/store/attendance.store.js';
import { BidStore } from './contracts/store/bid.store.js';
import { ContractStore } from './contracts/store/contract.store.js';
import { NoticeStore } from './contracts/store/notice.store.js';
import { TranscriptStore } from './contracts/store/transcript.store.js';
import { CapabilityAliases } from './discovery/capabilities/capability.aliases.js';
import { CandidateStore } from './discovery/directory/candidate.store.js';
import { DEFAULT_FOLLOWER_OPTIONS, DirectoryFollower } from './discovery/directory/directory.follower.js';
import { Directory } from './discovery/directory/directory.js';
import { DirectorySync } from './discovery/directory/directory.sync.js';
import { RegistryClock } from './discovery/directory/registry.clock.js';
import { ReplicaChanges } from './discovery/directory/replica.changes.js';
import { StrongReader } from './discovery/directory/strong.reader.js';
import { Ranker } from './discovery/ranking/ranker.js';
import { defaultStrategies, Strategies } from './discovery/ranking/strategies.js';
import { HistoryPruner } from './history.pruner.js';
import { ClockStore } from './leases/clock.store.js';
import { EvictionSweeper } from './leases/eviction.sweeper.js';
import { HeartbeatBatcher } from './leases/heartbeat.batcher.js';
import { suspectAfterMs } from './leases/lease.policy.js';
import { LeaseStore } from './leases/lease.store.js';
import { ProtectionStore } from './leases/protection.store.js';
import { LocalChanges } from './local.changes.js';
import { type ContractOptions, REGISTRY_OPTIONS, type RegistryOptions } from './registry.options.js';

/**
 * What the registry adds to the contents of a namespace. A namespace with live agents, held reservations (calls in progress) or open
 * contracts cannot be deleted. Budgets do not prevent the deletion: they remain as history. Each of these objects is added in a transaction
 * that locks its namespace, so none is added during the deletion.
 */
const NAMESPACE_CONTENTS: FactoryProvider = {
  provide: Symbol('namespace contents of the registry'),
  inject: [NamespaceContents, AgentStore, LedgerStore, ContractStore],
  useFactory: (contents: NamespaceContents, agents: AgentStore, ledger: LedgerStore, contracts: ContractStore) => {
    contents.add({ kind: 'agents', count: async (namespace) => await agents.countLive(namespace) });
    contents.add({ kind: 'reservations', count: async (namespace) => await ledger.countHeldIn(namespace) });
    contents.add({ kind: 'contracts', count: async (namespace) => await contracts.countOpen(namespace) });
  },
};

/** The parameters of the constructors that a factory completes with options. */
type SweeperServices = [
  Database,
  LeaseStore,
  ProtectionStore,
  ClockStore,
  AgentEvents,
  AgentBudgets,
  Directory,
  DirectoryFollower,
  RegistryClock,
];
type SyncServices = [Directory, AgentStore, LeaseStore, BudgetStore, CircuitStore, RegistryClock, ReplicaChanges];

const DEFAULT_RUN_DEPTH = 34;
const NO_USAGE_SOURCES: UsageOptions = { sources: [], refreshEveryMs: 60_000 };

/** All providers of the registry. */
export function registryProviders(options: RegistryOptions): Provider[] {
  return [
    { provide: REGISTRY_OPTIONS, useValue: options },
    ...budgetProviders(options),
    ...fleetProviders(options),
    ...discoveryProviders(options),
    ...contractProviders(options.contracts),
    NAMESPACE_CONTENTS,
    LocalChanges,
    HistoryPruner,
  ];
}

/** Agents, leases and circuits. */
function fleetProviders(options: RegistryOptions): Provider[] {
  const { flap, circuit, agentQuota: quota = NO_QUOTA } = options;
  return [
    AgentStore,
    RegistrationStore,
    CircuitStore,
    LeaseTokenStore,
    LeaseStore,
    ProtectionStore,
    ClockStore,
    AgentEvents,
    AgentSnapshots,
    AgentsService,
    ReservedNames,
    RegistrationWriter,
    UpdateGroup,
    HeartbeatBatcher,
    {
      provide: RegistrationGroup,
      inject: [Database, RegistrationWriter, NamespaceCatalog],
      useFactory: (db: Database, writer: RegistrationWriter, namespaces: NamespaceCatalog) =>
        new RegistrationGroup(db, writer, { flap, quota }, namespaces),
    },
    {
      provide: CircuitService,
      inject: [Database, CircuitStore, AgentEvents, Directory],
      useFactory: (db: Database, store: CircuitStore, events: AgentEvents, directory: Directory) =>
        new CircuitService(db, store, events, directory, circuit),
    },
    {
      provide: EvictionSweeper,
      inject: [
        Database,
        LeaseStore,
        ProtectionStore,
        ClockStore,
        AgentEvents,
        AgentBudgets,
        Directory,
        DirectoryFollower,
        RegistryClock,
      ],
      useFactory: (...[db, leases, protection, times, events, budgets, directory, follower, clock]: SweeperServices) =>
        new EvictionSweeper(db, leases, protection, times, events, budgets, { directory, follower, clock }, options),
    },
  ];
}

/** The directory of this replica, its updates, and queries. */
function discoveryProviders({
  directory,
  budgets,
  flap,
  follower,
  lease,
  strategies = [],
}: RegistryOptions): Provider[] {
  const directoryOptions = { ...directory, lowBudget: budgets?.low, silentAfterMs: suspectAfterMs(lease) };
  const followerOptions = { ...DEFAULT_FOLLOWER_OPTIONS, ...follower };
  return [
    CandidateStore,
    ReplicaChanges,
    Ranker,
    StrongReader,
    { provide: Strategies, useFactory: () => new Strategies([...defaultStrategies(), ...strategies]) },
    { provide: RegistryClock, useFactory: () => new RegistryClock() },
    { provide: CapabilityAliases, useFactory: () => directory?.aliases ?? new CapabilityAliases() },
    {
      provide: Directory,
      inject: [CapabilityAliases],
      useFactory: (aliases: CapabilityAliases) => new Directory({ ...directoryOptions, aliases }),
    },
    {
      provide: DirectorySync,
      inject: [Directory, AgentStore, LeaseStore, BudgetStore, CircuitStore, RegistryClock, ReplicaChanges],
      useFactory: (...services: SyncServices) => new DirectorySync(...services, flap),
    },
    {
      provide: DirectoryFollower,
      inject: [DirectorySync, EventFeed, EventLog],
      useFactory: (sync: DirectorySync, feed: EventFeed, log: EventLog) =>
        new DirectoryFollower(sync, { feed, log }, followerOptions),
    },
  ];
}

/** Budgets and the ledger. */
function budgetProviders({ budgets: rules = {}, usage = NO_USAGE_SOURCES }: RegistryOptions): Provider[] {
  const { low = DEFAULT_LOW_BUDGET, limits = DEFAULT_SPENDING_LIMITS, clock } = rules;
  const { runDepth = DEFAULT_RUN_DEPTH, heldQuota: quota = NO_QUOTA, share = NO_QUOTA } = rules;
  return [
    BudgetStatus,
    BudgetStore,
    LedgerStore,
    ReconciliationStore,
    AgentBudgets,
    BudgetSweeper,
    UsageRefresher,
    {
      provide: UsageLoops,
      inject: [UsageRefresher, BackgroundFaults],
      useFactory: (refresher: UsageRefresher, faults: BackgroundFaults) => new UsageLoops(refresher, faults, usage),
    },
    {
      provide: BudgetEvents,
      inject: [Database, EventOutbox],
      useFactory: (db: Database, outbox: EventOutbox) => new BudgetEvents(db, outbox, low),
    },
    {
      provide: BudgetLedger,
      inject: [Database, LedgerStore, BudgetEvents, NamespaceAdmission],
      useFactory: (db: Database, store: LedgerStore, events: BudgetEvents, namespaces: NamespaceAdmission) =>
        new BudgetLedger(db, store, events, namespaces, { limits, quota, share, clock }),
    },
    {
      provide: BudgetsService,
      inject: [Database, BudgetStore, BudgetLedger, BudgetEvents],
      useFactory: (db: Database, store: BudgetStore, ledger: BudgetLedger, events: BudgetEvents) =>
        new BudgetsService(db, store, ledger, events, runDepth),
    },
  ];
}

/** The contract net. */
function contractProviders({ scoring, quota = NO_QUOTA }: ContractOptions = {}): Provider[] {
  return [
    ContractStore,
    BidStore,
    TranscriptStore,
    NoticeStore,
    AttendanceStore,
    { provide: ScoringRules, useFactory: () => new ScoringRules(scoring) },
    {
      provide: ContractAdmission,
      inject: [NamespaceAdmission, ContractStore],
      useFactory: (namespaces: NamespaceAdmission, store: ContractStore) =>
        new ContractAdmission(namespaces, store, quota),
    },
    ContractCounts,
    ContractInvitees,
    ContractEvents,
    ContractReservations,
    ContractAwards,
    ContractCloser,
    ContractsService,
    ContractBidding,
    ContractOutcomes,
    ContractInviters,
    ContractDispatcher,
    NoticeSender,
    ContractWaits,
    ContractSelection,
  ];
}
