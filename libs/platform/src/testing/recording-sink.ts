import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.types.js';
import type { EventSink, Receipt } from '../sinks/event.sink.js';
import type { RetryPolicy } from '../sinks/retry.policy.js';

/** A sink that remembers what arrived, and does with each try what the test wants. */
export class RecordingSink implements EventSink {
  readonly arrived: number[] = [];
  readonly batch = 1;
  readonly keepsDeliveries: boolean = true;
  retries: RetryPolicy = { mostTries: 3, firstMs: 1, longestMs: 5 };
  matches: EventMatcher = () => true;
  /** Throws to refuse. */
  onTry: (event: RegistryEvent, signal: AbortSignal) => Promise<void> | void = () => undefined;
  closed = 0;

  async deliver([event]: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt> {
    if (!event) return {};
    await this.onTry(event, signal);
    this.arrived.push(event.seq);
    return { status: 200 };
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}
