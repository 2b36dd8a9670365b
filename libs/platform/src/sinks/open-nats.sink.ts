import type { EventSink } from './event.sink.js';
import type { NatsSinkOptions } from './nats.sink.js';

/** Loads the NATS client on the first call, so that a process without NATS never loads it. */
export async function openNatsSink(options: NatsSinkOptions): Promise<EventSink> {
  const { NatsSink } = await import('./nats.sink.js');
  return new NatsSink(options);
}
