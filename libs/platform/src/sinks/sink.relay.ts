import { setTimeout as delay } from 'node:timers/promises';
import { CursorForeignError } from '../events/event.errors.js';
import type { EventFeed } from '../events/event.feed.js';
import type { RegistryEvent } from '../events/event.types.js';
import type { FeedSubscription } from '../events/feed.subscription.js';
import type { Worker, WorkEnd } from '../work/leased-work.js';
import type { DeliveryStore } from './delivery.store.js';
import { DeliveryError, type EventSink, type Receipt } from './event.sink.js';
import { isGivenUp, retryDelay } from './retry.policy.js';
import type { ClaimedSink, DeliveryOutcome, Progress, SinkStore } from './sink.store.js';

export interface RelayParts {
  feed: EventFeed;
  sinks: SinkStore;
  deliveries: DeliveryStore;
  onError(error: unknown): void;
  onTried(kind: string, outcome: 'delivered' | 'failed' | 'parked', events: number): void;
}

/** How long a delivery in progress may take after `stop`. */
const STOP_MS = 2_000;
const PENDING_AT_ONCE = 50;
const LONGEST_ERROR = 500;

interface Attempt {
  receipt?: Receipt;
  error?: unknown;
  tookMs: number;
}

/**
 * Delivers the log to one sink, in order, while it holds the lease. Progress is saved after every delivery, so a crash repeats
 * the delivery in progress and loses nothing. An event that cannot be delivered is retried with growing delays while later
 * events wait; after the last retry it is parked, and the next event follows.
 */
export class SinkRelay implements Worker<ClaimedSink> {
  private readonly stopping = new AbortController();
  private readonly cutting = new AbortController();
  private arrival = Promise.withResolvers<readonly RegistryEvent[]>();
  private subscription?: FeedSubscription;
  private at: number;
  private failures: number;
  private dueInMs: number;
  private running?: Promise<WorkEnd>;
  private unusable?: Error;

  constructor(
    private readonly claimed: ClaimedSink,
    private readonly sink: EventSink,
    private readonly parts: RelayParts,
  ) {
    this.at = claimed.cursor;
    this.failures = claimed.attempts;
    this.dueInMs = claimed.dueInMs;
  }

  get claim(): ClaimedSink {
    return { ...this.claimed, cursor: this.at };
  }

  /** `ended`: stopped, or the lease is lost. `failed`: an error that the sink did not cause. */
  run(): Promise<WorkEnd> {
    this.running ??= this.follow();
    return this.running;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    const timer = setTimeout(() => this.cutting.abort(), STOP_MS);
    await this.running;
    clearTimeout(timer);
  }

  private async follow(): Promise<WorkEnd> {
    try {
      await this.sendPending();
      this.subscription = this.parts.feed.subscribe(this.at, {
        take: (events) => {
          this.arrival.resolve(events);
          return false;
        },
        expired: (error) => {
          // after a restore the cursor in the database is right: the next claim reads it
          if (error instanceof CursorForeignError) return this.stopping.abort();
          this.unusable = error;
          this.arrival.resolve([]);
        },
      });
      while (!this.isStopping) await this.relay(await this.next());
      return 'ended';
    } catch (error) {
      await this.report(error);
      return 'failed';
    } finally {
      this.subscription?.close();
      await this.sink.close();
    }
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async next(): Promise<readonly RegistryEvent[]> {
    const { signal } = this.stopping;
    const stopped = Promise.withResolvers<readonly RegistryEvent[]>();
    const leave = (): void => stopped.resolve([]);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await Promise.race([this.arrival.promise, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  private async relay(events: readonly RegistryEvent[]): Promise<void> {
    const wanted = events.filter(this.sink.matches);
    for (let start = 0; start < wanted.length && !this.isStopping; start += this.sink.batch)
      await this.deliver(wanted.slice(start, start + this.sink.batch));
    if (this.isStopping) return;
    if (this.unusable) throw this.unusable;
    this.at = events.at(-1)?.seq ?? this.at;
    this.arrival = Promise.withResolvers();
    this.subscription?.resume();
  }

  /** Returns when the batch is delivered or parked, or the relay stops. */
  private async deliver(batch: readonly RegistryEvent[]): Promise<void> {
    const last = batch.at(-1)?.seq ?? this.at;
    for (;;) {
      await delay(this.dueInMs, undefined, { signal: this.stopping.signal }).catch(() => undefined); // stopped
      if (this.isStopping) return;
      const result = await this.attempt(batch);
      if (this.cutting.signal.aborted) return;
      this.failures = result.error === undefined ? 0 : this.failures + 1;
      const parked = this.failures > 0 && isGivenUp(this.sink.retries, this.failures);
      if (parked) this.failures = 0;
      const done = this.failures === 0;
      if (done) this.at = last;
      this.dueInMs = done ? 0 : this.waitAfter(result.error);
      await this.save(result, batch, parked ? 'parked' : done ? 'delivered' : 'retrying');
      if (done) return;
    }
  }

  private waitAfter(error: unknown): number {
    const asked = error instanceof DeliveryError ? error.facts.retryAfterMs : undefined;
    return retryDelay(this.sink.retries, this.failures, Math.random(), asked);
  }

  private async attempt(batch: readonly RegistryEvent[]): Promise<Attempt> {
    const started = performance.now();
    const took = (): number => Math.round(performance.now() - started);
    try {
      return { receipt: await this.sink.deliver(batch, this.cutting.signal), tookMs: took() };
    } catch (error) {
      return { error: error ?? new Error('unknown'), tookMs: took() };
    }
  }

  private async save(result: Attempt, batch: readonly RegistryEvent[], state: DeliveryOutcome['state']): Promise<void> {
    this.parts.onTried(this.claimed.kind, state === 'retrying' || state === 'pending' ? 'failed' : state, batch.length);
    const error = result.error === undefined ? null : describe(result.error);
    const progress: Progress = { cursor: this.at, attempts: this.failures, dueInMs: this.dueInMs, error };
    const [event] = batch;
    const outcome = this.sink.keepsDeliveries && event ? { event, state, error, ...factsOf(result) } : undefined;
    if (!(await this.parts.sinks.save(this.claimed, progress, outcome))) this.stopping.abort();
  }

  /** Deliveries that an operator asked to repeat: each is attempted once, and parked again if that fails. */
  private async sendPending(): Promise<void> {
    if (!this.sink.keepsDeliveries) return;
    for (let after = 0, size = PENDING_AT_ONCE; size === PENDING_AT_ONCE;) {
      const events = await this.parts.deliveries.pending(this.claimed.id, after, PENDING_AT_ONCE);
      for (const event of events) {
        if (this.isStopping) return;
        const result = await this.attempt([event]);
        if (this.cutting.signal.aborted) return;
        await this.save(result, [event], result.error === undefined ? 'delivered' : 'parked');
      }
      size = events.length;
      after = events.at(-1)?.seq ?? after;
    }
  }

  private async report(error: unknown): Promise<void> {
    this.stopping.abort();
    this.parts.onError(error);
    if (!this.unusable) return;
    try {
      await this.parts.sinks.stop(this.claimed, this.unusable.message);
    } catch (fault) {
      this.parts.onError(fault); // the next relay of this sink gets the same error
    }
  }
}

function factsOf({ receipt, error, tookMs }: Attempt): { status: number | null; tookMs: number } {
  const answered = receipt?.status ?? (error instanceof DeliveryError ? error.facts.status : undefined);
  return { status: answered ?? null, tookMs };
}

function describe(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll('\0', '').slice(0, LONGEST_ERROR);
}
