import type { ServerResponse } from 'node:http';
import { formatCursor, type LogPosition, type RegistryEvent, toCloudEventText } from '#rollcall/platform';
import type { EventStream, StreamSink } from './event.stream.js';
import type { StreamEnd } from './stream.end.js';
import type { KeptConnection } from './stream.keeper.js';

/** One response that goes on: server-sent events, whose `id` is the cursor. */
export class SseConnection implements StreamSink, KeptConnection {
  private stream?: EventStream;

  constructor(private readonly response: ServerResponse) {
    response.socket?.setTimeout(0);
    response.on('drain', () => this.stream?.drained());
  }

  get buffered(): number {
    return this.response.writableLength;
  }

  get open(): boolean {
    return !this.response.writableEnded && !this.response.destroyed;
  }

  get cursor(): string | undefined {
    return this.stream?.cursor;
  }

  follow(open: () => EventStream): void {
    this.response.write(': connected\n\n');
    this.stream = open();
  }

  send(events: readonly RegistryEvent[], epoch: string): void {
    const text = (event: RegistryEvent): string =>
      `id: ${formatCursor({ seq: event.seq, epoch })}\nevent: ${event.type}\ndata: ${toCloudEventText(event)}\n\n`;
    this.response.write(events.map(text).join(''));
  }

  sendPosition(position: LogPosition): void {
    this.response.write(`id: ${formatCursor(position)}\n\n`);
  }

  beat(): void {
    this.response.write(': still here\n\n');
    this.stream?.sendPosition();
  }

  /** A consumer that does not read would not see the goodbye either. */
  end(reason: StreamEnd): void {
    this.stream?.close();
    if (reason.code === 'SLOW_CONSUMER') return void this.response.destroy();
    this.response.end(`event: end\ndata: ${JSON.stringify(reason)}\n\n`);
  }

  closed(): void {
    this.stream?.close();
  }
}
