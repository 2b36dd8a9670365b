import { Test, type TestingModule } from '@nestjs/testing';
import { BackgroundFaults, type Database, NamespacesService, PlatformModule } from '#rollcall/platform';
import { eventsOf, RecordedFaults, type TestEvents, testPlatformOptions } from '#rollcall/platform/testing';
import { AgentSnapshots } from '../agents/agent.snapshots.js';
import { AgentsService } from '../agents/agents.service.js';
import { DEFAULT_CIRCUIT_POLICY } from '../circuit/circuit.breaker.js';
import { CircuitService } from '../circuit/circuit.service.js';
import { Directory } from '../discovery/directory/directory.js';
import { DirectoryFollower } from '../discovery/directory/directory.follower.js';
import { DirectorySync } from '../discovery/directory/directory.sync.js';
import { Ranker } from '../discovery/ranking/ranker.js';
import { RegistryClock } from '../discovery/directory/registry.clock.js';
import { StrongReader } from '../discovery/directory/strong.reader.js';
import { EvictionSweeper } from '../leases/eviction.sweeper.js';
import { DEFAULT_FLAP_POLICY } from '../leases/flap.damping.js';
import { HeartbeatBatcher } from '../leases/heartbeat.batcher.js';
import { DEFAULT_LEASE_POLICY } from '../leases/lease.policy.js';
import { DEFAULT_PROTECTION_POLICY } from '../leases/protection.state.js';
import { ProtectionStore } from '../leases/protection.store.js';
import { RegistryModule } from '../registry.module.js';
import type { RegistryOptions } from '../registry.options.js';
import { budgetsOf, type BudgetParts } from './budget-parts.js';
import { contractsOf, type ContractParts } from './contract-parts.js';
import { type GivenAgent, givenAgents, type AgentSpec } from './given-agents.js';

/** The services of one replica. */
export interface TestRegistry {
  agents: AgentsService;
  circuits: CircuitService;
  heartbeats: HeartbeatBatcher;
  sweeper: EvictionSweeper;
  protection: ProtectionStore;
  directory: Directory;
  sync: DirectorySync;
  follower: DirectoryFollower;
  ranker: Ranker;
  strong: StrongReader;
  clock: RegistryClock;
  snapshots: AgentSnapshots;
  namespaces: NamespacesService;
  budgets: BudgetParts;
  contracts: ContractParts;
  events: TestEvents;
  given: BudgetParts['given'] & { agent(spec?: AgentSpec): Promise<GivenAgent> };
  /** Settles when accepted heartbeats and outcomes are committed and the directory has read all changes. */
  idle(): Promise<void>;
}

const DAY_MS = 86_400_000;

export const DEFAULT_REGISTRY_OPTIONS: RegistryOptions = {
  lease: DEFAULT_LEASE_POLICY,
  protection: DEFAULT_PROTECTION_POLICY,
  circuit: DEFAULT_CIRCUIT_POLICY,
  flap: DEFAULT_FLAP_POLICY,
  retention: { leftAgentsMs: DAY_MS, reservationsMs: DAY_MS, linesMs: DAY_MS, runsMs: DAY_MS, contractsMs: DAY_MS },
};

/** The registry of one replica on this database. No periodic work runs, because the module is not initialised. */
export async function testRegistry(db: Database, options: Partial<RegistryOptions> = {}): Promise<TestRegistry> {
  const module = await registryModule(db, options);
  const { heartbeats, sync, ...parts } = partsOf(module);
  const idle = async (): Promise<void> => {
    await heartbeats.idle();
    await parts.circuits.idle();
    await sync.idle();
  };
  const budgets = budgetsOf(module);
  const { failuresToOpen } = options.circuit ?? DEFAULT_CIRCUIT_POLICY;
  const given = { ...budgets.given, agent: givenAgents({ ...parts, failuresToOpen }) };
  return { ...parts, heartbeats, sync, idle, budgets, contracts: contractsOf(module), events: eventsOf(module), given };
}

export async function registryModule(db: Database, options: Partial<RegistryOptions>): Promise<TestingModule> {
  const platform = PlatformModule.forRoot(testPlatformOptions(db));
  const registry = RegistryModule.forRoot({ ...DEFAULT_REGISTRY_OPTIONS, ...options });
  return await Test.createTestingModule({ imports: [platform, registry] })
    .overrideProvider(BackgroundFaults)
    .useValue(new RecordedFaults())
    .compile();
}

function partsOf(module: TestingModule): Omit<TestRegistry, 'budgets' | 'contracts' | 'events' | 'given' | 'idle'> {
  const anywhere = { strict: false };
  return {
    agents: module.get(AgentsService, anywhere),
    circuits: module.get(CircuitService, anywhere),
    heartbeats: module.get(HeartbeatBatcher, anywhere),
    sweeper: module.get(EvictionSweeper, anywhere),
    protection: module.get(ProtectionStore, anywhere),
    directory: module.get(Directory, anywhere),
    sync: module.get(DirectorySync, anywhere),
    follower: module.get(DirectoryFollower, anywhere),
    ranker: module.get(Ranker, anywhere),
    strong: module.get(StrongReader, anywhere),
    clock: module.get(RegistryClock, anywhere),
    snapshots: module.get(AgentSnapshots, anywhere),
    namespaces: module.get(NamespacesService, anywhere),
  };
}
