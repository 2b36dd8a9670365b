import { type DynamicModule, Module } from '@nestjs/common';
import { AgentSnapshots } from './agents/agent.snapshots.js';
import { AgentsService } from './agents/agents.service.js';
import { LeaseTokenStore } from './agents/lease-token.store.js';
import { ReservedNames } from './agents/registration/reserved.names.js';
import { BudgetsService } from './budgets/budgets.service.js';
import { BudgetLedger } from './budgets/ledger/budget.ledger.js';
import { BudgetStatus } from './budgets/store/budget.status.js';
import { ReconciliationStore } from './budgets/store/reconciliation.store.js';
import { CircuitService } from './circuit/circuit.service.js';
import { ContractBidding } from './contracts/auction/contract.bidding.js';
import { ContractCounts } from './contracts/contract.events.js';
import { ContractOutcomes } from './contracts/contract.outcomes.js';
import { ContractSelection } from './contracts/contract.selection.js';
import { ContractsService } from './contracts/contracts.service.js';
import { ContractDispatcher } from './contracts/invitations/contract.dispatcher.js';
import { ContractInviters } from './contracts/invitations/contract.inviters.js';
import { CapabilityAliases } from './discovery/capabilities/capability.aliases.js';
import { DirectoryFollower } from './discovery/directory/directory.follower.js';
import { Directory } from './discovery/directory/directory.js';
import { RegistryClock } from './discovery/directory/registry.clock.js';
import { StrongReader } from './discovery/directory/strong.reader.js';
import { Ranker } from './discovery/ranking/ranker.js';
import { HeartbeatBatcher } from './leases/heartbeat.batcher.js';
import { ProtectionStore } from './leases/protection.store.js';
import { checkOptions, type RegistryOptions } from './registry.options.js';
import { registryProviders } from './registry.providers.js';

/** Provides agents, leases, circuits, discovery, budgets and contracts for one replica. Requires `PlatformModule`. */
@Module({})
export class RegistryModule {
  static forRoot(options: RegistryOptions): DynamicModule {
    checkOptions(options);
    return {
      module: RegistryModule,
      global: true,
      providers: registryProviders(options),
      exports: [
        AgentsService,
        AgentSnapshots,
        ReservedNames,
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
