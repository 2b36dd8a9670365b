import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationBootstrap } from '@nestjs/common';
import {
  type EventFeed,
  type EventLog,
  type FeedSubscription,
  isExpired,
  Periodic,
  qualifiedId,
  type RegistryEvent,
  StopsIn,
} from '#rollcall/platform';
import { RegistryError } from '../../errors.js';
import type { Revision } from './directory.entry.js';
import type { DirectorySync } from './directory.sync.js';

/** This replica was frozen or could not read the event log, and did not catch up in time. */
class DirectoryStaleError extends RegistryError {
  readonly code = 'DIRECTORY_STALE';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super(
      'This replica has not received changes for some seconds, so its results could contain agents that have left. ' +
        'Try again in a second, send the query to another replica, or set consistency to "strong".',
    );
  }
}

export interface FollowerOptions {
  /** If the directory is older than this, a query waits until the directory has caught up with the event log. */
  catchUpMs: number;
  /** If the directory is older than this and cannot catch up, queries are rejected. */
  staleMs: number;
  /** How long a query waits for the directory to catch up. */
  waitMs: number;
  /** Clocks that continue while the process is frozen. The age is measured with the clock that has advanced most. */
  clocks: readonly (() => number)[];
}

const FOLLOW_EVERY_MS = 1_000;

export const DEFAULT_FOLLOWER_OPTIONS: FollowerOptions = {
  catchUpMs: 5_000,
  staleMs: 60_000,
  waitMs: 1_500,
  clocks: [() => performance.now()],
};

/**
 * Applies the event log to this replica's directory, and measures how old the directory is. On a replica that was frozen, a query
 * first waits until the directory has caught up. While the database is unavailable, queries are answered from memory for a
 * limited time, because an outage of the database must not make a healthy fleet unreachable.
 */
export class DirectoryFollower implements OnApplicationBootstrap {
  private subscription?: FeedSubscription;
  private following?: Promise<void>;
  private refreshing?: Promise<void>;
  /** Whether the directory must be loaded again: at first, and when the subscription to the feed has ended. */
  private mustLoad = true;
  /** The start of the last pass of the feed after which the directory had all events, by each clock. Empty at first. */
  private currentAt: readonly number[] = [];
  private passStartedAt: readonly number[] = [];
  private passFailed = false;
  /** Callers that wait for the next pass to start, and callers that wait for the pass in progress to end. */
  private waitingForStart: (() => void)[] = [];
  private waitingForEnd: (() => void)[] = [];

  constructor(
    private readonly sync: DirectorySync,
    private readonly events: { feed: EventFeed; log: EventLog },
    private readonly options: FollowerOptions = DEFAULT_FOLLOWER_OPTIONS,
  ) {
    events.feed.watch({
      started: () => this.onPassStarted(),
      done: () => this.onPassDone(),
      failed: () => this.onPassEnded(true),
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.follow();
  }

  /** Loads the whole directory and subscribes to the feed, unless that is done already. */
  @Periodic('registry.follow', FOLLOW_EVERY_MS)
  async follow(): Promise<void> {
    if (this.mustLoad) await (this.following ??= this.load().finally(() => (this.following = undefined)));
  }

  @StopsIn('background')
  async close(): Promise<void> {
    this.subscription?.close();
  }

  get isFresh(): boolean {
    return this.ageMs() <= Math.min(this.options.catchUpMs, this.options.staleMs);
  }

  /** Resolves when queries may be answered from the directory. Rejects with a DirectoryStaleError if that takes too long. */
  async refresh(): Promise<void> {
    if (this.isFresh) return;
    if (!this.passFailed) {
      this.refreshing ??= this.catchUp().finally(() => (this.refreshing = undefined));
      await Promise.race([this.refreshing, delay(this.options.waitMs, undefined, { ref: false })]);
    }
    if (this.ageMs() > this.options.staleMs) throw new DirectoryStaleError();
  }

  /** The age of the directory: the time since it last had all events of the log. */
  ageMs(): number {
    const { clocks } = this.options;
    let age = this.currentAt.length === 0 ? Infinity : this.sync.behindMs;
    for (let index = 0; index < clocks.length; index++) age = Math.max(age, clocks[index]() - this.currentAt[index]);
    return age;
  }

  private async catchUp(): Promise<void> {
    const passed = Promise.withResolvers<void>();
    this.waitingForStart.push(passed.resolve);
    this.events.feed.wake();
    await passed.promise;
    await this.sync.idle();
  }

  /** Subscribes from the position before the load. Changes during the load may be applied twice, which is harmless. */
  private async load(): Promise<void> {
    this.subscription?.close();
    const startedAt = this.readClocks();
    const head = await this.events.log.head();
    await this.sync.load();
    this.currentAt = startedAt;
    this.mustLoad = false;
    this.subscription = this.events.feed.subscribe(head, {
      accept: (events) => this.onEvents(events),
      expired: () => this.reload(),
    });
  }

  private onEvents(events: readonly RegistryEvent[]): void {
    this.sync.scheduleRefresh(agentsIn(events.filter((event) => !this.isKnown(event))));
    if (events.some(mayHideChanges)) this.reload();
  }

  /** Whether the event reports a registration or an update that the directory contains already. */
  private isKnown(event: RegistryEvent): boolean {
    const write = writeOf(event);
    return write !== undefined && this.sync.knows(agentOf(event) ?? '', write);
  }

  private reload(): void {
    this.mustLoad = true;
    void this.follow().catch(() => undefined); // the next periodic call of `follow` tries again
  }

  private onPassStarted(): void {
    this.passStartedAt = this.readClocks();
    this.waitingForEnd.push(...this.waitingForStart.splice(0));
  }

  private onPassDone(): void {
    const { subscription } = this;
    const hasAll = subscription !== undefined && subscription.cursor >= (this.events.feed.position ?? 0);
    if (hasAll && !this.mustLoad) this.currentAt = this.passStartedAt;
    this.onPassEnded(false);
  }

  private onPassEnded(hasFailed: boolean): void {
    this.passFailed = hasFailed;
    for (const resolve of this.waitingForEnd.splice(0)) resolve();
  }

  private readClocks(): readonly number[] {
    return this.options.clocks.map((clock) => clock());
  }
}

/** Whether agents may have changed that the event does not name. The directory must then be loaded again. */
function mayHideChanges(event: RegistryEvent): boolean {
  return isExpired(event) || event.type === 'registry.clock_stepped_back';
}

/** The write of an agent's record that the event reports; undefined if the event does not identify one. */
function writeOf(event: RegistryEvent): Revision | undefined {
  if (event.type === 'agent.joined') return { generation: event.data.generation, revision: 1 };
  if (event.type !== 'agent.updated' || event.data.revision === undefined) return undefined;
  return { generation: event.data.generation, revision: event.data.revision };
}

function agentsIn(events: readonly RegistryEvent[]): string[] {
  return [...new Set(events.map(agentOf).filter((agentId) => agentId !== undefined))];
}

/** The qualified id of the agent whose record or budget the event changes. */
function agentOf({ type, namespace, subject, data }: RegistryEvent): string | undefined {
  if (type.startsWith('agent.') || type.startsWith('circuit.')) return qualifiedId(namespace, subject);
  const agentId = type.startsWith('budget.') && 'agentId' in data ? data.agentId : undefined;
  return agentId === undefined ? undefined : qualifiedId(namespace, agentId);
}
