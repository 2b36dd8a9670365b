import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationBootstrap } from '@nestjs/common';
import {
  type EventFeed,
  type EventLog,
  type FeedSubscription,
  Periodic,
  type RegistryEvent,
  StopsIn,
} from '#rollcall/platform';
import { DirectoryStaleError } from './discovery.errors.js';
import type { DirectorySync } from './directory.sync.js';

export interface FollowerOptions {
  /** A directory that has not been in step with the log for this long has to catch up before a query is answered from it. */
  catchUpMs: number;
  /** A directory that has not been in step for this long, and cannot catch up, is not answered from. */
  staleMs: number;
  /** How long a query waits for a directory that has to catch up. */
  waitMs: number;
  /** Clocks that go on while the process is frozen. The one that has advanced most counts. */
  clocks: readonly (() => number)[];
}

const FOLLOW_EVERY_MS = 1_000;

export const USUAL_FOLLOWER_OPTIONS: FollowerOptions = {
  catchUpMs: 5_000,
  staleMs: 60_000,
  waitMs: 1_500,
  clocks: [() => performance.now()],
};

/**
 * Keeps this replica's directory in step with the event log, and knows how old it is. On a replica that was frozen, a query
 * first waits until the directory has caught up. While the database is unavailable, queries are answered from memory for a
 * limited time, because an outage of the database must not make a healthy fleet unreachable.
 */
export class DirectoryFollower implements OnApplicationBootstrap {
  private subscription?: FeedSubscription;
  private following?: Promise<void>;
  private refreshing?: Promise<void>;
  /** The feed has ended our subscription, or there has been none yet. */
  private lost = true;
  /** By each clock, empty at first: the start of the last look at the log after which the directory had all of it. */
  private inStepAt: readonly number[] = [];
  private lookStartedAt: readonly number[] = [];
  private lookFailed = false;
  private waiting: (() => void)[] = [];
  private served: (() => void)[] = [];

  constructor(
    private readonly sync: DirectorySync,
    private readonly events: { feed: EventFeed; log: EventLog },
    private readonly options: FollowerOptions = USUAL_FOLLOWER_OPTIONS,
  ) {
    events.feed.watch({
      started: () => this.lookStarted(),
      done: () => this.lookDone(),
      failed: () => this.lookEnded(true),
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.follow();
  }

  /** Loads the whole directory unless it follows the log already. */
  @Periodic('registry.follow', FOLLOW_EVERY_MS)
  async follow(): Promise<void> {
    if (this.lost) await (this.following ??= this.load().finally(() => (this.following = undefined)));
  }

  @StopsIn('background')
  async close(): Promise<void> {
    this.subscription?.close();
  }

  get isFresh(): boolean {
    return this.ageMs() <= Math.min(this.options.catchUpMs, this.options.staleMs);
  }

  /** Settles when the directory may be answered from; fails with a DirectoryStaleError when it may not in time. */
  async refresh(): Promise<void> {
    if (this.isFresh) return;
    if (!this.lookFailed) {
      this.refreshing ??= this.catchUp().finally(() => (this.refreshing = undefined));
      await Promise.race([this.refreshing, delay(this.options.waitMs, undefined, { ref: false })]);
    }
    if (this.ageMs() > this.options.staleMs) throw new DirectoryStaleError();
  }

  /** How long the directory has not been in step with the log. */
  ageMs(): number {
    const { clocks } = this.options;
    let age = this.inStepAt.length === 0 ? Infinity : this.sync.behindMs;
    for (let index = 0; index < clocks.length; index++) age = Math.max(age, clocks[index]() - this.inStepAt[index]);
    return age;
  }

  private async catchUp(): Promise<void> {
    const looked = Promise.withResolvers<void>();
    this.waiting.push(looked.resolve);
    this.events.feed.wake();
    await looked.promise;
    await this.sync.idle();
  }

  /** From before the fleet is read: what changes meanwhile comes again, which does no harm. */
  private async load(): Promise<void> {
    this.subscription?.close();
    const startedAt = this.moment();
    const head = await this.events.log.head();
    await this.sync.load();
    this.inStepAt = startedAt;
    this.lost = false;
    this.subscription = this.events.feed.subscribe(head, {
      accept: (events) => this.take(events),
      expired: () => this.lose(),
    });
  }

  private take(events: readonly RegistryEvent[]): void {
    this.sync.refreshSoon(agentsIn(events));
    if (events.some(({ type }) => type === 'registry.clock_stepped_back')) this.lose();
  }

  private lose(): void {
    this.lost = true;
    void this.follow().catch(() => undefined); // whoever calls `follow` regularly tries again
  }

  private lookStarted(): void {
    this.lookStartedAt = this.moment();
    this.served.push(...this.waiting.splice(0));
  }

  private lookDone(): void {
    const { subscription } = this;
    const hasAll = subscription !== undefined && subscription.cursor >= (this.events.feed.position ?? 0);
    if (hasAll && !this.lost) this.inStepAt = this.lookStartedAt;
    this.lookEnded(false);
  }

  private lookEnded(hasFailed: boolean): void {
    this.lookFailed = hasFailed;
    for (const resolve of this.served.splice(0)) resolve();
  }

  private moment(): readonly number[] {
    return this.options.clocks.map((clock) => clock());
  }
}

function agentsIn(events: readonly RegistryEvent[]): string[] {
  return [...new Set(events.map(agentOf).filter((agentId) => agentId !== undefined))];
}

/** The agent whose record or standing the event changes. */
function agentOf({ type, subject, data }: RegistryEvent): string | undefined {
  if (type.startsWith('agent.') || type.startsWith('circuit.')) return subject;
  return type.startsWith('budget.') && 'agentId' in data ? data.agentId : undefined;
}
