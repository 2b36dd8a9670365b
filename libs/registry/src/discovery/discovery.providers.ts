import type { Provider } from '@nestjs/common';
import { EventFeed, EventLog } from '#rollcall/platform';
import { AgentStore } from '../agents/agent.store.js';
import { BudgetStore } from '../budgets/budget.store.js';
import { LeaseStore } from '../leases/lease.store.js';
import type { RegistryOptions } from '../registry.options.js';
import { CandidateStore } from './candidate.store.js';
import { CapabilityAliases } from './capability.aliases.js';
import { Directory } from './directory.js';
import { DirectoryFollower, DEFAULT_FOLLOWER_OPTIONS } from './directory.follower.js';
import { DirectorySync } from './directory.sync.js';
import { Ranker } from './ranker.js';
import { RegistryClock } from './registry.clock.js';
import { StrongReader } from './strong.reader.js';

/** The providers for the directory of this replica, for its updates, and for queries. */
export function discoveryProviders({ directory, budgets, flap, follower }: RegistryOptions): Provider[] {
  const followerOptions = { ...DEFAULT_FOLLOWER_OPTIONS, ...follower };
  return [
    CandidateStore,
    { provide: RegistryClock, useFactory: () => new RegistryClock() },
    { provide: CapabilityAliases, useFactory: () => directory?.aliases ?? new CapabilityAliases() },
    {
      provide: Directory,
      inject: [CapabilityAliases],
      useFactory: (aliases: CapabilityAliases) => new Directory({ ...directory, aliases, lowBudget: budgets?.low }),
    },
    {
      provide: DirectorySync,
      inject: [Directory, RegistryClock, AgentStore, LeaseStore, BudgetStore],
      useFactory: (
        target: Directory,
        clock: RegistryClock,
        ...[agents, leases, stored]: [AgentStore, LeaseStore, BudgetStore]
      ): DirectorySync => new DirectorySync(target, { agents, leases, budgets: stored }, flap, clock),
    },
    {
      provide: DirectoryFollower,
      inject: [DirectorySync, EventFeed, EventLog],
      useFactory: (sync: DirectorySync, feed: EventFeed, log: EventLog) =>
        new DirectoryFollower(sync, { feed, log }, followerOptions),
    },
    { provide: Ranker, inject: [Directory], useFactory: (target: Directory) => new Ranker(target) },
    {
      provide: StrongReader,
      inject: [Directory, Ranker, CandidateStore, DirectorySync],
      useFactory: (target: Directory, { strategies }: Ranker, candidates: CandidateStore, sync: DirectorySync) =>
        new StrongReader(target, strategies, candidates, sync),
    },
  ];
}
