import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ResponseReader } from './response.reader.js';

const READ_BYTES = 65_536;

export interface Address {
  hostname: string;
  port: number;
}

/** A connection that sends a request as soon as it has the response to the previous one. */
export class LoadConnection {
  /** Rejects when the server closes the connection or rejects a request. Never resolves. */
  readonly broken: Promise<never>;
  private readonly socket: Socket;
  private readonly fail: (reason: Error) => void;
  private readonly reader = new ResponseReader();
  private sentAt = 0;
  private closed = false;
  private finished?: () => void;

  constructor(
    { hostname, port }: Address,
    private readonly nextRequest: () => Buffer,
    private readonly onAnswer: (ms: number) => void,
  ) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.broken = promise;
    this.fail = reject;
    const onread = { buffer: Buffer.alloc(READ_BYTES), callback: this.read.bind(this) };
    this.socket = connect({ host: hostname, port, noDelay: true, onread });
  }

  async open(): Promise<void> {
    await once(this.socket, 'connect');
    this.socket.on('error', this.fail);
    this.socket.on('close', () => this.closed || this.fail(new Error('the server closed the connection under load')));
  }

  send(): void {
    this.sentAt = performance.now();
    this.socket.write(this.nextRequest());
  }

  /** Sends no further request. Settles when the response to the last request has arrived. */
  async finish(): Promise<void> {
    await new Promise<void>((resolve) => (this.finished = resolve));
  }

  close(): void {
    this.closed = true;
    this.socket.destroy();
  }

  private read(bytes: number, buffer: Uint8Array): boolean {
    try {
      if (this.reader.accept(Buffer.from(buffer.buffer, buffer.byteOffset, bytes))) this.answered();
    } catch (error) {
      this.fail(error as Error);
    }
    return true;
  }

  private answered(): void {
    this.onAnswer(performance.now() - this.sentAt);
    if (this.finished) this.finished();
    else if (!this.closed) this.send();
  }
}
