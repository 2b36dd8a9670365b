import type { Socket } from 'node:net';

interface Connection {
  readonly socket: Socket;
  /** Since its last answer, or since the first byte of a request. */
  readonly quietSince: number;
  /** A request is not answered yet, or its answer not read. */
  readonly isBusy: boolean;
  /** For its first request, or for the rest of one. */
  readonly isWaiting: boolean;
  /** Node is to read it. */
  giveUp(): void;
}

/** For so long a connection may say nothing, or half of something, before Node and its time limits get it. */
const PATIENCE_MS = 2_000;
/** As Node does: the answer may have been on its way for a while. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** The connections that the lane reads itself. */
export class LaneConnections {
  isClosing = false;
  private readonly all = new Set<Connection>();

  add(connection: Connection): void {
    this.all.add(connection);
    connection.socket.once('close', () => this.all.delete(connection));
  }

  remove(connection: Connection): void {
    this.all.delete(connection);
  }

  /** Gives up those that have waited for too long, and ends those that were not used for too long, or came too late. */
  look(keepAliveMs: number, now = performance.now()): void {
    if (this.isClosing) return this.close();
    const patienceMs = keepAliveMs > 0 ? keepAliveMs + KEEP_ALIVE_MARGIN_MS : Infinity;
    for (const connection of this.all) {
      const quietMs = now - connection.quietSince;
      if (connection.isWaiting && quietMs >= PATIENCE_MS) connection.giveUp();
      else if (!connection.isBusy && quietMs >= patienceMs) connection.socket.destroy();
    }
  }

  /** Ends all of them, those that are busy with their answer. */
  close(): void {
    this.isClosing = true;
    for (const connection of this.all) if (!connection.isBusy) connection.socket.destroy();
  }
}
