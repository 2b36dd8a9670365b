import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.js';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import type { EventSink, Receipt, RetryPolicy } from '../sinks/event.sink.js';

/** A sink that records delivered events. The test controls each attempt with `onAttempt`. */
export class RecordingSink implements EventSink {
  readonly arrived: number[] = [];
  readonly batch = 1;
  readonly keepsDeliveries: boolean = true;
  retries: RetryPolicy = { maxAttempts: 3, firstDelayMs: 1, maxDelayMs: 5 };
  matches: EventMatcher = () => true;
  namespace: string = ALL_NAMESPACES;
  /** The sink ends with this event. */
  lastSeq = Infinity;
  /** A test makes a delivery fail with a function that throws. */
  onAttempt: (event: RegistryEvent, signal: AbortSignal) => Promise<void> | void = () => undefined;
  closed = 0;

  isLast({ seq }: RegistryEvent): boolean {
    return seq === this.lastSeq;
  }

  async deliver([event]: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt> {
    if (!event) return {};
    await this.onAttempt(event, signal);
    this.arrived.push(event.seq);
    return { status: 200 };
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}
