import { formatCursor, type LogPosition, type RegistryEvent } from '#rollcall/platform';
import { toFrame } from './event.frame.js';
import type { EventStream, StreamSink } from './event.stream.js';
import type { FrameSocket } from './frame.socket.js';
import { CLOSE_CODES, type StreamEnd } from './stream.end.js';
import type { StreamConnection } from './stream.connections.js';

/** One WebSocket, with one subscription at a time. Frames are `{"event": …, "data": …}`. */
export class SocketConnection implements StreamSink, StreamConnection {
  private stream?: EventStream;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly socket: FrameSocket) {}

  get buffered(): number {
    return this.socket.buffered;
  }

  get open(): boolean {
    return this.socket.open;
  }

  get cursor(): string | undefined {
    return this.stream?.cursor;
  }

  /** Processes the requests of this connection in their order. */
  async enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined); // the caller of this method gets the error
    await done;
  }

  /** Replaces the previous subscription. */
  follow(open: () => EventStream): void {
    this.stream?.close();
    this.stream = open();
  }

  acknowledge(seq: number): void {
    this.stream?.acknowledge(seq);
  }

  send(events: readonly RegistryEvent[], epoch: string): void {
    this.write(toFrame(events, epoch));
  }

  sendPosition(position: LogPosition): void {
    this.sendFrame('position', { sequence: String(position.seq), cursor: formatCursor(position) });
  }

  sendFrame(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  /**
   * A client that did not respond to the last ping is disconnected. Clients often cannot see pings, so the position is
   * sent too, even if it has not changed: a consumer that receives nothing for several intervals knows that its connection is dead.
   */
  beat(): void {
    if (this.socket.ping() && this.stream) this.sendPosition(this.stream.position);
  }

  end(reason: StreamEnd): void {
    this.stream?.close();
    this.sendFrame('end', reason);
    const { code, after } = reason;
    this.socket.close(CLOSE_CODES[code], { code, after });
  }

  onClosed(): void {
    this.stream?.close();
  }

  private write(text: string | Buffer): void {
    this.socket.write(text, () => this.stream?.onDrain());
  }
}
