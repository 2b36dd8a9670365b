import { type DynamicModule, type FactoryProvider, Module } from '@nestjs/common';
import { NamespaceContents } from '#rollcall/platform';
import { agentProviders } from './agents/agent.providers.js';
import { AgentSnapshots } from './agents/agent.snapshots.js';
import { AgentStore } from './agents/agent.store.js';
import { AgentsService } from './agents/agents.service.js';
import { LeaseTokenStore } from './agents/lease-token.store.js';
import { BudgetLedger } from './budgets/budget.ledger.js';
import { budgetProviders } from './budgets/budget.providers.js';
import { BudgetStatus } from './budgets/budget.status.js';
import { BudgetsService } from './budgets/budgets.service.js';
import { LedgerStore } from './budgets/ledger.store.js';
import { ReconciliationStore } from './budgets/reconciliation.store.js';
import { CircuitService } from './circuit/circuit.service.js';
import { ContractBidding } from './contracts/auction/contract.bidding.js';
import { ContractCounts } from './contracts/contract.events.js';
import { ContractOutcomes } from './contracts/contract.outcomes.js';
import { contractProviders } from './contracts/contract.providers.js';
import { ContractSelection } from './contracts/contract.selection.js';
import { ContractsService } from './contracts/contracts.service.js';
import { ContractDispatcher } from './contracts/invitations/contract.dispatcher.js';
import { ContractInviters } from './contracts/invitations/contract.inviters.js';
import { ContractStore } from './contracts/store/contract.store.js';
import { CapabilityAliases } from './discovery/capability.aliases.js';
import { DirectoryFollower } from './discovery/directory.follower.js';
import { Directory } from './discovery/directory.js';
import { discoveryProviders } from './discovery/discovery.providers.js';
import { Ranker } from './discovery/ranker.js';
import { RegistryClock } from './discovery/registry.clock.js';
import { StrongReader } from './discovery/strong.reader.js';
import { HistoryPruner } from './history.pruner.js';
import { HeartbeatBatcher } from './leases/heartbeat.batcher.js';
import { ProtectionStore } from './leases/protection.store.js';
import { LocalChanges } from './local.changes.js';
import { checkOptions, REGISTRY_OPTIONS, type RegistryOptions } from './registry.options.js';

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

/** Provides agents, leases, circuits, discovery, budgets and contracts for one replica. Requires `PlatformModule`. */
@Module({})
export class RegistryModule {
  static forRoot(options: RegistryOptions): DynamicModule {
    checkOptions(options);
    return {
      module: RegistryModule,
      global: true,
      providers: [
        { provide: REGISTRY_OPTIONS, useValue: options },
        ...budgetProviders(options.budgets),
        ...agentProviders(options),
        ...discoveryProviders(options),
        ...contractProviders(options.contracts),
        NAMESPACE_CONTENTS,
        LocalChanges,
        HistoryPruner,
      ],
      exports: [
        AgentsService,
        AgentSnapshots,
        LeaseTokenStore,
        HeartbeatBatcher,
        CircuitService,
        ProtectionStore,
        CapabilityAliases,
        DirectoryFollower,
        RegistryClock,
        Ranker,
        Directory,
        StrongReader,
        BudgetLedger,
        BudgetsService,
        BudgetStatus,
        ReconciliationStore,
        ContractsService,
        ContractBidding,
        ContractOutcomes,
        ContractInviters,
        ContractCounts,
        ContractDispatcher,
        ContractSelection,
      ],
    };
  }
}
