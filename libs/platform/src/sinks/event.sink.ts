import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.types.js';
import type { RetryPolicy } from './retry.policy.js';

export interface Receipt {
  /** What the other side answered with, where it has such a number. */
  status?: number;
}

/**
 * A place outside that events are relayed to. A relay calls it with events in order, one call at a time, and calls again
 * with the same ones until they have arrived: an implementation sends, and neither retries nor remembers.
 */
export interface EventSink {
  readonly matches: EventMatcher;
  /** How many it takes at a time. */
  readonly batch: number;
  readonly retries: RetryPolicy;
  /** Whether what became of each event is kept, to be looked at and sent again. */
  readonly keepsDeliveries: boolean;
  /** Returns when all have arrived, or throws. They may arrive again. */
  deliver(events: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt>;
  close(): Promise<void>;
}

/** Makes the sink of this id, as it is configured now; undefined when there is none any more. */
export type SinkFactory = (id: string) => Promise<EventSink | undefined>;

/** What a sink throws when it knows more than that it did not work. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';

  constructor(
    message: string,
    readonly facts: { status?: number; retryAfterMs?: number } = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
