import { connect, type Socket } from 'node:net';
import type { HostileRequest } from './hostile.requests.js';

/** Called with each response, such as `A1 401` or `A2 no answer`. */
export type Answered = (finding: string, status: string) => void;

const READ_BYTES = 65_536;
const END_OF_HEAD = '\r\n\r\n';
const TIMEOUT_MS = 5_000;

/**
 * A client that sends one request after the other, each after the previous response. It reads as little of a response as possible,
 * because it shares two cores with the server. A response without a known length ends the connection.
 */
export class HostileClient {
  private socket?: Socket;
  private timer?: NodeJS.Timeout;
  /** The bytes of the body that have not arrived yet; undefined until the head is complete. */
  private missing?: number;
  private head = '';
  private stopped = false;

  constructor(
    private readonly at: { host: string; port: number },
    private readonly requests: readonly HostileRequest[],
    private next: number,
    private readonly answered: Answered,
  ) {}

  ask(): void {
    if (this.stopped) return;
    this.socket ??= this.open();
    this.missing = undefined;
    this.head = '';
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.done('no answer', true), TIMEOUT_MS);
    this.socket.write(this.current.bytes);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.socket?.destroy();
  }

  private get current(): HostileRequest {
    const request = this.requests[this.next % this.requests.length];
    if (!request) throw new Error('there are no hostile requests');
    return request;
  }

  private open(): Socket {
    const buffer = Buffer.alloc(READ_BYTES);
    const onread = { buffer, callback: (bytes: number) => this.read(buffer.subarray(0, bytes)) };
    const socket = connect({ ...this.at, noDelay: true, onread });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.done(this.head === '' ? 'no answer' : statusOf(this.head), false);
    });
    return socket;
  }

  private read(chunk: Buffer): boolean {
    if (this.missing === undefined) this.readHead(chunk);
    else this.missing -= chunk.length;
    if (this.missing === 0) this.done(statusOf(this.head), /^connection: close/im.test(this.head));
    return true;
  }

  private readHead(chunk: Buffer): void {
    const text = this.head + chunk.toString('latin1');
    const end = text.indexOf(END_OF_HEAD);
    this.head = end < 0 ? text : text.slice(0, end);
    if (end < 0) return;
    const length = /^content-length: (\d+)/im.exec(this.head)?.[1];
    // Without a length, the response ends with the connection, so the connection is closed here.
    this.missing = length === undefined ? 0 : end + END_OF_HEAD.length + Number(length) - text.length;
    if (length === undefined) this.head += '\nconnection: close';
  }

  private done(status: string, isOver: boolean): void {
    this.answered(this.current.finding, status);
    if (isOver) {
      const { socket } = this;
      this.socket = undefined;
      socket?.destroy();
    }
    this.next += 1;
    setImmediate(() => this.ask());
  }
}

function statusOf(head: string): string {
  return head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
}
