import type { Provider } from '@nestjs/common';
import { EventFeed, EventLog } from '#rollcall/platform';
import type { RegistryOptions } from '../registry.options.js';
import { CandidateStore } from './candidate.store.js';
import { CapabilityAliases } from './capability.aliases.js';
import { Directory } from './directory.js';
import { DirectoryFollower, DEFAULT_FOLLOWER_OPTIONS } from './directory.follower.js';
import { DirectoryStores, DirectorySync } from './directory.sync.js';
import { Ranker } from './ranker.js';
import { RegistryClock } from './registry.clock.js';
import { Strategies } from './strategies/strategies.js';
import { StrongReader } from './strong.reader.js';

/** The providers for the directory of this replica, for its updates, and for queries. */
export function discoveryProviders({ directory, budgets, flap, follower }: RegistryOptions): Provider[] {
  const followerOptions = { ...DEFAULT_FOLLOWER_OPTIONS, ...follower };
  return [
    CandidateStore,
    DirectoryStores,
    Ranker,
    StrongReader,
    { provide: Strategies, useFactory: () => new Strategies() },
    { provide: RegistryClock, useFactory: () => new RegistryClock() },
    { provide: CapabilityAliases, useFactory: () => directory?.aliases ?? new CapabilityAliases() },
    {
      provide: Directory,
      inject: [CapabilityAliases],
      useFactory: (aliases: CapabilityAliases) => new Directory({ ...directory, aliases, lowBudget: budgets?.low }),
    },
    {
      provide: DirectorySync,
      inject: [Directory, DirectoryStores, RegistryClock],
      useFactory: (target: Directory, stores: DirectoryStores, clock: RegistryClock) =>
        new DirectorySync(target, stores, flap, clock),
    },
    {
      provide: DirectoryFollower,
      inject: [DirectorySync, EventFeed, EventLog],
      useFactory: (sync: DirectorySync, feed: EventFeed, log: EventLog) =>
        new DirectoryFollower(sync, { feed, log }, followerOptions),
    },
  ];
}
