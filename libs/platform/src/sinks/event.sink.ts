import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.js';

export interface Receipt {
  /** The status of the response, if the protocol has one. */
  status?: number;
}

/**
 * A destination outside Rollcall. A relay calls `deliver` with events in order, one call at a time, and repeats a
 * failed call with the same events. An implementation only sends: it neither retries nor stores anything.
 */
export interface EventSink {
  readonly matches: EventMatcher;
  /** The namespace whose events the sink receives; `*` for all events. */
  readonly namespace: string;
  /** The maximum number of events in one call. */
  readonly batch: number;
  readonly retries: RetryPolicy;
  /** Whether each delivery is recorded, so that operators can inspect it and send it again. */
  readonly keepsDeliveries: boolean;
  /** Whether the sink is deleted after this event is delivered or parked. A sink without this method is never deleted in this way. */
  isLast?(event: RegistryEvent): boolean;
  /** Resolves when the destination has confirmed all events, otherwise throws. The same events may be delivered again. */
  deliver(events: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt>;
  close(): Promise<void>;
}

/** Creates the sink with this id from its current settings; undefined if it was deleted. */
export type SinkFactory = (id: string) => Promise<EventSink | undefined>;

/** The error of a sink that knows the status of the response, or when to retry. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';

  constructor(
    message: string,
    readonly details: { status?: number; retryAfterMs?: number } = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface RetryPolicy {
  /** The number of attempts before an event is parked. Null means no limit. */
  maxAttempts: number | null;
  firstDelayMs: number;
  maxDelayMs: number;
}

/**
 * Returns the delay after a number of consecutive failures. It doubles with each failure up to `maxDelayMs`. `random`,
 * between 0 and 1, varies the delay, so that sinks do not retry at the same time. `retryAfterMs` is the minimum that
 * the receiver asked for; it is limited to `maxDelayMs` too.
 */
export function retryDelay(
  { firstDelayMs, maxDelayMs }: RetryPolicy,
  failures: number,
  random: number,
  retryAfterMs: number = 0,
): number {
  const backoffMs = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures - 1, 40));
  return Math.ceil(Math.min(maxDelayMs, Math.max(backoffMs * (0.5 + random / 2), retryAfterMs)));
}

export function isExhausted({ maxAttempts }: RetryPolicy, failures: number): boolean {
  return maxAttempts !== null && failures >= maxAttempts;
}
