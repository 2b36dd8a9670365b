import type { Provider } from '@nestjs/common';
import { Database, NamespaceCatalog, NO_QUOTA } from '#rollcall/platform';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { CircuitService } from '../circuit/circuit.service.js';
import { CircuitStore } from '../circuit/circuit.store.js';
import { Directory } from '../discovery/directory.js';
import { ClockStore } from '../leases/clock.store.js';
import { EvictionSweeper } from '../leases/eviction.sweeper.js';
import { HeartbeatBatcher } from '../leases/heartbeat.batcher.js';
import { LeaseStore } from '../leases/lease.store.js';
import { ProtectionStore } from '../leases/protection.store.js';
import { SweepStores } from '../leases/sweep.stores.js';
import type { RegistryOptions } from '../registry.options.js';
import { AgentEvents } from './agent.events.js';
import { AgentLifecycle } from './agent.lifecycle.js';
import { AgentSnapshots } from './agent.snapshots.js';
import { AgentStore } from './agent.store.js';
import { AgentsService } from './agents.service.js';
import { LeaseTokenStore } from './lease-token.store.js';
import { RegistrationGroup } from './registration.group.js';
import { RegistrationStore } from './registration.store.js';
import { RegistrationWriter } from './registration.writer.js';
import { UpdateGroup } from './update.group.js';

const STORES = [AgentStore, RegistrationStore, CircuitStore, LeaseTokenStore, LeaseStore, ProtectionStore, ClockStore];

/** The providers for agents, leases and circuits. */
export function agentProviders(options: RegistryOptions): Provider[] {
  const { flap, circuit, agentQuota: quota = NO_QUOTA } = options;
  return [
    ...STORES,
    SweepStores,
    AgentEvents,
    AgentLifecycle,
    AgentSnapshots,
    AgentsService,
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
      inject: [Database, SweepStores, AgentEvents, AgentBudgets],
      useFactory: (db: Database, stores: SweepStores, events: AgentEvents, budgets: AgentBudgets) =>
        new EvictionSweeper(db, stores, events, budgets, options),
    },
  ];
}
