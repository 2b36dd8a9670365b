import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { dateHeader } from './date.header.js';
import type { LaneConnections } from './lane.connections.js';
import { type LaneCall, LaneRequest } from './lane.request.js';
import type { LaneParts, Lanes } from './lanes.js';
import { readPlainHead } from './plain.request.js';

export interface ConnectionParts extends LaneParts {
  lanes: Lanes;
  connections: LaneConnections;
  /** Has Node read the connection from here on. */
  readByNode(socket: Socket): void;
  keepAliveMs: number;
}

const NOTHING = Buffer.alloc(0);

/**
 * A connection of which the lane reads the bytes itself, as long as there is nothing on it but requests of the lane, each
 * after the answer to the one before. At the first byte of anything else Node gets the connection, and keeps it.
 */
export class LaneConnection implements LaneCall {
  url = '';
  headers: LaneCall['headers'] = {};
  quietSince = performance.now();
  isBusy = false;
  /** Came, and was not read yet: the rest of its request is missing, or the answer to the one before. */
  private held: Buffer = NOTHING;
  private hasEnded = false;
  private readonly keepAlive: string;

  constructor(
    readonly socket: Socket,
    private readonly parts: ConnectionParts,
  ) {
    this.keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(parts.keepAliveMs / 1_000)}\r\n\r\n`;
    socket.on('data', this.onData).on('end', this.onEnd).on('error', onError);
    parts.connections.add(this);
  }

  get isWaiting(): boolean {
    return !this.isBusy && (this.held.length > 0 || this.socket.bytesRead === 0);
  }

  private get isLeaving(): boolean {
    return this.hasEnded || this.parts.connections.isClosing || this.parts.lifecycle.phase === 'closing';
  }

  /** Node is to read the connection, beginning with what the lane has not read of it. */
  giveUp(): void {
    const { socket, held, parts } = this;
    parts.connections.remove(this);
    socket.pause();
    socket.off('data', this.onData).off('end', this.onEnd).off('error', onError);
    if (held.length > 0) socket.unshift(held);
    parts.readByNode(socket);
    socket.resume();
  }

  send(status: number, headers: readonly string[], body: string | Buffer): void {
    const isLast = this.isLeaving;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
    const hasRoom = this.write(head + dateHeader() + (isLast ? 'Connection: close\r\n\r\n' : this.keepAlive), body);
    if (isLast)
      this.socket.destroySoon(); // whatever else was sent, and whether or not the caller ends its side
    else if (hasRoom) this.goOn();
    else this.socket.pause().once('drain', () => this.goOn()); // who does not read its answers is not asked for more
  }

  private readonly onData = (chunk: Buffer): void => {
    const isFirst = this.held.length === 0;
    const bytes = isFirst ? chunk : Buffer.concat([this.held, chunk]);
    if (isFirst) this.quietSince = performance.now();
    if (!this.isBusy) return this.read(bytes);
    this.held = bytes;
    this.socket.pause();
  };

  private readonly onEnd = (): void => {
    this.hasEnded = true;
    if (!this.isBusy) this.socket.end();
  };

  private read(bytes: Buffer): void {
    this.held = bytes;
    const head = this.parts.lifecycle.phase === 'closing' ? undefined : readPlainHead(bytes);
    const to = head && this.parts.lanes.find(head.url);
    if (!to) return this.giveUp();
    const missing = head.headBytes + head.bodyBytes - bytes.length;
    if (missing < 0) return this.giveUp();
    if (missing > 0) return;
    this.held = NOTHING;
    this.isBusy = true;
    this.url = head.url;
    this.headers = head.headers;
    new LaneRequest(to, this.parts, this).work(bytes.subarray(head.headBytes));
  }

  private goOn(): void {
    this.isBusy = false;
    this.quietSince = performance.now();
    if (this.isLeaving) return this.socket.destroySoon();
    if (this.held.length > 0) this.read(this.held);
    if (this.socket.isPaused()) this.socket.resume();
  }

  private write(head: string, body: string | Buffer): boolean {
    const { socket } = this;
    if (typeof body === 'string') return socket.write(head + body, 'latin1');
    socket.cork();
    socket.write(head, 'latin1');
    const hasRoom = socket.write(body);
    socket.uncork();
    return hasRoom;
  }
}

/** A connection that broke is closed by its socket; nobody is left to be told. Without a listener the process would end. */
function onError(): void {}
