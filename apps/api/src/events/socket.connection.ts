import type { WebSocket } from 'ws';
import { formatCursor, type LogPosition, type RegistryEvent } from '#rollcall/platform';
import { toFrame } from './event.frame.js';
import type { EventStream, StreamSink } from './event.stream.js';
import { CLOSE_CODES, type StreamEnd } from './stream.end.js';
import type { KeptConnection } from './stream.keeper.js';

/** How long a client may take to answer our goodbye. */
const GOODBYE_MS = 2_000;

/** One WebSocket, with one subscription at a time. Frames are `{"event": …, "data": …}`. */
export class SocketConnection implements StreamSink, KeptConnection {
  private stream?: EventStream;
  private answered = true;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly socket: WebSocket) {
    socket.on('pong', () => (this.answered = true));
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

  /** What this connection asked for is done in the order it was asked in. */
  async inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined); // whoever asked is told
    await done;
  }

  /** Puts the subscription in the place of the one before. */
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
    this.tell('position', { sequence: String(position.seq), cursor: formatCursor(position) });
  }

  tell(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  /**
   * A client that did not answer the last ping is disconnected. Clients often cannot see pings, so a position is sent even when it is the
   * same as before: a consumer that receives nothing for several beats knows that its connection is dead.
   */
  beat(): void {
    if (!this.answered) return this.socket.terminate();
    this.answered = false;
    this.socket.ping();
    if (this.stream) this.sendPosition(this.stream.position);
  }

  end(reason: StreamEnd): void {
    this.stream?.close();
    this.tell('end', reason);
    const { code, after } = reason;
    this.socket.close(CLOSE_CODES[code], JSON.stringify({ code, after }));
    setTimeout(() => this.socket.terminate(), GOODBYE_MS).unref();
  }

  closed(): void {
    this.stream?.close();
  }

  private write(text: string | Buffer): void {
    if (this.open) this.socket.send(text, { binary: false }, () => this.stream?.drained());
  }
}
