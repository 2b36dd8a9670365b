import type { Database, RegistryEvents } from '#rollcall/platform';
import { RegistryBudgets, type RegistryBudgetsOptions } from '../budgets/registry.budgets.js';
import type { CircuitPolicy } from '../circuit/circuit.breaker.js';
import { CircuitService } from '../circuit/circuit.service.js';
import { Directory, type DirectoryOptions } from '../discovery/directory.js';
import { DirectoryFollower, USUAL_FOLLOWER_OPTIONS, type FollowerOptions } from '../discovery/directory.follower.js';
import { DirectorySync } from '../discovery/directory.sync.js';
import { CandidateStore } from '../discovery/candidate.store.js';
import { Ranker } from '../discovery/ranker.js';
import { RegistryClock } from '../discovery/registry.clock.js';
import { StrongReader } from '../discovery/strong.reader.js';
import { ClockStore } from '../leases/clock.store.js';
import { EvictionSweeper } from '../leases/eviction.sweeper.js';
import type { FlapPolicy } from '../leases/flap.damping.js';
import { HeartbeatBatcher } from '../leases/heartbeat.batcher.js';
import type { LeasePolicy } from '../leases/lease.policy.js';
import { LeaseStore } from '../leases/lease.store.js';
import { ProtectionStore } from '../leases/protection.store.js';
import type { ProtectionPolicy } from '../leases/protection.state.js';
import { NO_QUOTA, type Quota } from '#rollcall/platform';
import { AgentEvents } from './agent.events.js';
import { AgentSnapshots } from './agent.snapshots.js';
import { AgentStore } from './agent.store.js';
import { AgentsService } from './agents.service.js';

export interface LiveRegistryOptions {
  lease: LeasePolicy;
  protection: ProtectionPolicy;
  circuit: CircuitPolicy;
  flap: FlapPolicy;
  /** Which budgets are low is for the budgets to say. */
  directory?: Omit<DirectoryOptions, 'lowBudget'>;
  budgets?: RegistryBudgetsOptions;
  follower?: Partial<FollowerOptions>;
  /** How many live agents one principal may have registered. */
  agentQuota?: Quota;
}

/** One replica's view of who is there, wired on one database and its events. */
export class LiveRegistry {
  readonly agents: AgentsService;
  readonly circuits: CircuitService;
  readonly heartbeats: HeartbeatBatcher;
  readonly sweeper: EvictionSweeper;
  readonly protection: ProtectionStore;
  readonly directory: Directory;
  readonly sync: DirectorySync;
  readonly follower: DirectoryFollower;
  readonly ranker: Ranker;
  readonly strong: StrongReader;
  readonly budgets: RegistryBudgets;
  /** What time it is for everything that queries judge by time. */
  readonly clock = new RegistryClock();
  readonly snapshots: AgentSnapshots;

  constructor(db: Database, registryEvents: RegistryEvents, options: LiveRegistryOptions) {
    const { flap, agentQuota = NO_QUOTA } = options;
    const store = new AgentStore(db);
    const leases = new LeaseStore(db);
    const events = new AgentEvents(db, registryEvents.outbox);
    this.budgets = new RegistryBudgets(db, registryEvents, options.budgets);
    this.protection = new ProtectionStore(db);
    this.agents = new AgentsService(db, store, events, { flap, quota: agentQuota }, this.budgets.agents);
    this.circuits = new CircuitService(db, store, events, options.circuit);
    this.heartbeats = new HeartbeatBatcher(db, leases);
    this.sweeper = new EvictionSweeper(
      db,
      { leases, protection: this.protection, clock: new ClockStore(db) },
      events,
      this.budgets.agents,
      options,
    );
    this.directory = new Directory({ ...options.directory, lowBudget: this.budgets.low });
    this.sync = new DirectorySync(
      this.directory,
      { agents: store, leases, budgets: this.budgets.store },
      options.flap,
      this.clock,
    );
    const follower = { ...USUAL_FOLLOWER_OPTIONS, ...options.follower };
    this.follower = new DirectoryFollower(this.sync, registryEvents, follower);
    this.ranker = new Ranker(this.directory);
    this.strong = new StrongReader(this.directory, this.ranker.strategies, new CandidateStore(db), this.sync);
    this.snapshots = new AgentSnapshots(registryEvents.sequencer);
    this.heartbeats.onBeats((beats, taken) => this.sync.takeOwnBeats(beats, taken));
    this.heartbeats.onBeats((beats) => this.budgets.sweeper.hear(beats));
    events.onChange((agentIds) => this.sync.refreshSoon(agentIds));
    this.budgets.events.onChange((budgets) => this.sync.takeBudgets(budgets));
  }

  /** Settles when the beats that were taken are answered and the directory has read what changed. */
  async idle(): Promise<void> {
    await this.heartbeats.idle();
    await this.sync.idle();
  }
}
