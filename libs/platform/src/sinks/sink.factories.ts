import { Injectable } from '@nestjs/common';
import type { EventSink, SinkFactory } from './event.sink.js';
import type { NatsSinkOptions } from './nats.sink.js';

/** The kinds of sinks that this replica can deliver to. The module of a kind registers its factory when it is initialised. */
@Injectable()
export class SinkFactories {
  private readonly byKind = new Map<string, SinkFactory>();

  register(kind: string, factory: SinkFactory): void {
    this.byKind.set(kind, factory);
  }

  get kinds(): string[] {
    return [...this.byKind.keys()];
  }

  /** Returns undefined if the sink was deleted. */
  async create(kind: string, id: string): Promise<EventSink | undefined> {
    return await this.byKind.get(kind)?.(id);
  }
}

/** Loads the NATS client on the first call, so that a process without NATS never loads it. */
export async function openNatsSink(options: NatsSinkOptions): Promise<EventSink> {
  const { NatsSink } = await import('./nats.sink.js');
  return new NatsSink(options);
}
