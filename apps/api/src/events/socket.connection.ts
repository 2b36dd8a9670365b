import type { WebSocket } from 'ws';
import { formatCursor, type LogPosition, type RegistryEvent } from '#rollcall/platform';
import { toFrame } from './event.frame.js';
import type { EventStream, StreamSink } from './event.stream.js';
import { CLOSE_CODES, type StreamEnd } from './stream.end.js';
import type { StreamConnection } from './stream.connections.js';

/** How long a client may take to answer a close frame. */
const CLOSE_TIMEOUT_MS = 2_000;

/** One WebSocket, with one subscription at a time. Frames are `{"event": …, "data": …}`. */
export class SocketConnection implements StreamSink, StreamConnection {
  private stream?: EventStream;
  private hasPonged = true;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly socket: WebSocket) {
    socket.on('pong', () => (this.hasPonged = true));
  }

  get buffered(): number {
    return this.socket.bufferedAmount;
  }

  get open(): boolean {
    return this.socket.readyState === this.socket.OPEN;
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
   * A client that did not answer the last ping is disconnected. Clients often cannot see pings, so each beat also sends the
   * position, even if it has not changed: a consumer that receives nothing for several beats knows that its connection is dead.
   */
  beat(): void {
    if (!this.hasPonged) return this.socket.terminate();
    this.hasPonged = false;
    this.socket.ping();
    if (this.stream) this.sendPosition(this.stream.position);
  }

  end(reason: StreamEnd): void {
    this.stream?.close();
    this.sendFrame('end', reason);
    const { code, after } = reason;
    this.socket.close(CLOSE_CODES[code], JSON.stringify({ code, after }));
    setTimeout(() => this.socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  closed(): void {
    this.stream?.close();
  }

  private write(text: string | Buffer): void {
    if (this.open) this.socket.send(text, { binary: false }, () => this.stream?.onDrain());
  }
}
