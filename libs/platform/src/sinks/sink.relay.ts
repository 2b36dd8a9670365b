import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { CursorExpiredError, CursorForeignError } from '../events/event.cursor.js';
import type { EventFeed } from '../events/event.feed.js';
import { isExpired, type RegistryEvent } from '../events/event.js';
import type { FeedSubscription } from '../events/feed.subscription.js';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import type { Worker } from '../work/leased-work.js';
import type { DeliveryStore } from './delivery.store.js';
import { DeliveryError, type EventSink, isExhausted, type Receipt, retryDelay } from './event.sink.js';
import type { ClaimedSink, DeliveryOutcome, Progress, SinkStore } from './sink.store.js';

type DeliveryResult = 'delivered' | 'failed' | 'parked';

interface DeliveryCount {
  kind: string;
  result: DeliveryResult;
  events: number;
}

/** Counts the events that this replica tried to deliver, by kind of sink and by result. */
@Injectable()
export class DeliveryCounts {
  private readonly counts = new Map<string, DeliveryCount>();

  add(kind: string, result: DeliveryResult, events: number): void {
    const key = `${kind} ${result}`;
    const before = this.counts.get(key)?.events ?? 0;
    this.counts.set(key, { kind, result, events: before + events });
  }

  all(): DeliveryCount[] {
    return [...this.counts.values()];
  }
}

interface RelayDependencies {
  feed: EventFeed;
  sinks: SinkStore;
  deliveries: DeliveryStore;
  counts: DeliveryCounts;
  onError(error: unknown): void;
}

/** `ended`: the relay was stopped, or another replica holds the lease. */
type RelayEnd = 'ended' | 'failed';

/** How long `stop` waits for a delivery in progress before it aborts the delivery. */
const STOP_TIMEOUT_MS = 2_000;
const PENDING_BATCH = 50;
const MAX_ERROR_LENGTH = 500;

interface Attempt {
  receipt?: Receipt;
  error?: unknown;
  tookMs: number;
}

/**
 * Delivers the events of the log to one sink, in order, while it holds the lease of the sink. It saves the progress
 * after every delivery, so a crash repeats the delivery in progress and loses no event. A failed delivery is tried
 * again with a growing delay, and later events wait for it. After the last attempt the event is parked, and the relay
 * continues with the next event.
 */
export class SinkRelay implements Worker<ClaimedSink> {
  private readonly stopping = new AbortController();
  private readonly aborting = new AbortController();
  private received = Promise.withResolvers<readonly RegistryEvent[]>();
  private subscription?: FeedSubscription;
  private cursor: number;
  private failures: number;
  private dueInMs: number;
  private running?: Promise<RelayEnd>;
  private cursorError?: Error;

  constructor(
    private readonly claimed: ClaimedSink,
    private readonly sink: EventSink,
    private readonly dependencies: RelayDependencies,
  ) {
    this.cursor = claimed.cursor;
    this.failures = claimed.attempts;
    this.dueInMs = claimed.dueInMs;
  }

  /** The claim with the current cursor: all events up to it are processed. */
  get claim(): ClaimedSink {
    return { ...this.claimed, cursor: this.cursor };
  }

  /** Resolves when the relay is stopped, when it has lost its lease, or after an error that the sink did not cause. */
  run(): Promise<RelayEnd> {
    this.running ??= this.follow();
    return this.running;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    const timer = setTimeout(() => this.aborting.abort(), STOP_TIMEOUT_MS);
    await this.running;
    clearTimeout(timer);
  }

  private async follow(): Promise<RelayEnd> {
    try {
      await this.sendPending();
      this.subscription = this.dependencies.feed.subscribe(this.cursor, {
        accept: (events) => {
          this.received.resolve(events);
          return false;
        },
        expired: (error) => {
          // the database was restored from a backup: stop, because the next claim reads the restored cursor
          if (error instanceof CursorForeignError) return this.stopping.abort();
          this.cursorError = error;
          this.received.resolve([]);
        },
      });
      while (!this.isStopped) await this.relay(await this.next());
      return 'ended';
    } catch (error) {
      await this.reportFailure(error);
      return 'failed';
    } finally {
      this.subscription?.close();
      await this.sink.close();
    }
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async next(): Promise<readonly RegistryEvent[]> {
    const { signal } = this.stopping;
    const stopped = Promise.withResolvers<readonly RegistryEvent[]>();
    const onAbort = (): void => stopped.resolve([]);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await Promise.race([this.received.promise, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  private async relay(events: readonly RegistryEvent[]): Promise<void> {
    this.checkExpiry(events);
    const matching = events.filter(this.sink.matches);
    for (let start = 0; start < matching.length && !this.isStopped; start += this.sink.batch)
      await this.deliver(matching.slice(start, start + this.sink.batch));
    if (this.isStopped) return;
    if (this.cursorError) throw this.cursorError;
    this.cursor = events.at(-1)?.seq ?? this.cursor;
    this.received = Promise.withResolvers();
    this.subscription?.resume();
  }

  /** A sink of one namespace stops if events of its namespace have expired. A sink of all namespaces delivers the expired events. */
  private checkExpiry(events: readonly RegistryEvent[]): void {
    const { namespace } = this.sink;
    if (namespace === ALL_NAMESPACES) return;
    const last = events.findLast((event) => isExpired(event) && event.namespace === namespace);
    if (last) throw (this.cursorError = new CursorExpiredError(this.cursor, last.seq));
  }

  /** Resolves when the events were delivered or parked, or when the relay is stopped. */
  private async deliver(batch: readonly RegistryEvent[]): Promise<void> {
    const last = batch.at(-1)?.seq ?? this.cursor;
    for (;;) {
      await delay(this.dueInMs, undefined, { signal: this.stopping.signal }).catch(() => undefined); // the relay stops
      if (this.isStopped) return;
      const result = await this.attempt(batch);
      if (this.aborting.signal.aborted) return;
      this.failures = result.error === undefined ? 0 : this.failures + 1;
      const parked = this.failures > 0 && isExhausted(this.sink.retries, this.failures);
      if (parked) this.failures = 0;
      const done = this.failures === 0;
      if (done) this.cursor = last;
      this.dueInMs = done ? 0 : this.delayAfter(result.error);
      await this.save(result, batch, parked ? 'parked' : done ? 'delivered' : 'retrying');
      if (done) return;
    }
  }

  private delayAfter(error: unknown): number {
    const retryAfterMs = error instanceof DeliveryError ? error.details.retryAfterMs : undefined;
    return retryDelay(this.sink.retries, this.failures, Math.random(), retryAfterMs);
  }

  private async attempt(batch: readonly RegistryEvent[]): Promise<Attempt> {
    const started = performance.now();
    const took = (): number => Math.round(performance.now() - started);
    try {
      return { receipt: await this.sink.deliver(batch, this.aborting.signal), tookMs: took() };
    } catch (error) {
      return { error: error ?? new Error('unknown'), tookMs: took() };
    }
  }

  private async save(result: Attempt, batch: readonly RegistryEvent[], state: DeliveryOutcome['state']): Promise<void> {
    this.dependencies.counts.add(
      this.claimed.kind,
      state === 'retrying' || state === 'pending' ? 'failed' : state,
      batch.length,
    );
    if (this.failures === 0 && batch.some((one) => this.sink.isLast?.(one))) return await this.finish();
    const error = result.error === undefined ? null : describe(result.error);
    const progress: Progress = { cursor: this.cursor, attempts: this.failures, dueInMs: this.dueInMs, error };
    const [event] = batch;
    const outcome = this.sink.keepsDeliveries && event ? { event, state, error, ...resultOf(result) } : undefined;
    if (!(await this.dependencies.sinks.save(this.claimed, progress, outcome))) this.stopping.abort();
  }

  private async finish(): Promise<void> {
    await this.dependencies.sinks.finish(this.claimed);
    this.stopping.abort();
  }

  /** Repeats the deliveries that an operator has requested. Each gets one attempt; after a failure it is parked again. */
  private async sendPending(): Promise<void> {
    if (!this.sink.keepsDeliveries) return;
    for (let after = 0, size = PENDING_BATCH; size === PENDING_BATCH;) {
      const events = await this.dependencies.deliveries.pending(this.claimed.id, after, PENDING_BATCH);
      for (const event of events) {
        if (this.isStopped) return;
        const result = await this.attempt([event]);
        if (this.aborting.signal.aborted) return;
        await this.save(result, [event], result.error === undefined ? 'delivered' : 'parked');
      }
      size = events.length;
      after = events.at(-1)?.seq ?? after;
    }
  }

  private async reportFailure(error: unknown): Promise<void> {
    this.stopping.abort();
    this.dependencies.onError(error);
    if (!this.cursorError) return;
    try {
      await this.dependencies.sinks.stop(this.claimed, this.cursorError.message);
    } catch (fault) {
      this.dependencies.onError(fault); // the next relay of this sink finds the same problem
    }
  }
}

function resultOf({ receipt, error, tookMs }: Attempt): { status: number | null; tookMs: number } {
  const status = receipt?.status ?? (error instanceof DeliveryError ? error.details.status : undefined);
  return { status: status ?? null, tookMs };
}

function describe(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH);
}
