import type { WebSocket } from 'ws';

/** How long a client may take to respond to a close frame. */
const CLOSE_TIMEOUT_MS = 2_000;

/** A WebSocket whose messages are JSON frames, `{"event": …, "data": …}`. It detects dead clients by pings. */
export class FrameSocket {
  private responded = true;

  constructor(private readonly socket: WebSocket) {
    socket.on('pong', () => (this.responded = true));
  }

  get open(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Bytes that are not sent yet. */
  get buffered(): number {
    return this.socket.bufferedAmount;
  }

  /** Writes a serialised frame if the socket is open; `onSent` is called when the frame was sent. */
  write(frame: string | Buffer, onSent?: () => void): void {
    if (this.open) this.socket.send(frame, { binary: false }, onSent);
  }

  /** Disconnects a client that did not respond to the last ping. Returns whether the client was pinged. */
  ping(): boolean {
    if (this.responded) this.socket.ping();
    else this.socket.terminate();
    const pinged = this.responded;
    this.responded = false;
    return pinged;
  }

  /** Sends the reason as JSON. Ends the connection if the client does not respond to the close frame in time. */
  close(status: number | undefined, reason: Record<string, unknown>): void {
    this.socket.close(status, JSON.stringify(reason));
    setTimeout(() => this.socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }
}
