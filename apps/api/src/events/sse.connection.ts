import type { ServerResponse } from 'node:http';
import { formatCursor, type LogPosition, type RegistryEvent, toCloudEventText } from '#rollcall/platform';
import type { EventStream, StreamSink } from './event.stream.js';
import type { StreamEnd } from '../streams/stream.end.js';
import type { StreamConnection } from '../streams/stream.connections.js';

/** One response with server-sent events. The `id` of an event is the cursor after it. */
export class SseConnection implements StreamSink, StreamConnection {
  private stream?: EventStream;

  constructor(private readonly response: ServerResponse) {
    response.socket?.setTimeout(0);
    response.on('drain', () => this.stream?.onDrain());
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
    this.response.write(': heartbeat\n\n');
    this.stream?.sendPosition();
  }

  /** A slow consumer gets no `end` event, because it does not read. */
  end(reason: StreamEnd): void {
    this.stream?.close();
    if (reason.code === 'SLOW_CONSUMER') return void this.response.destroy();
    this.response.end(`event: end\ndata: ${JSON.stringify(reason)}\n\n`);
  }

  onClosed(): void {
    this.stream?.close();
  }
}
