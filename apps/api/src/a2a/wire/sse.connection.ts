import type { ServerResponse } from 'node:http';
import { formatSSEErrorEvent, formatSSEEvent } from '@a2a-js/sdk';
import type { A2AError } from '@a2a-js/sdk/errors';
import { SendSpace } from '../../streams/send.space.js';
import type { StreamConnection } from '../../streams/stream.connections.js';
import type { StreamEnd } from '../../streams/stream.end.js';
import { EdgeError } from '../a2a.errors.js';

export interface SseOptions {
  /** The maximum number of bytes in the send buffer. */
  readonly buffer: number;
  readonly slowAfterMs: number;
  /** The data of an error event. */
  readonly errorData: (error: A2AError) => object;
}

/**
 * Writes events at the pace of the connection: the next event is read only when the send buffer has space. A client whose buffer stays
 * full for too long is disconnected.
 */
export class SseConnection implements StreamConnection {
  /** A client continues with SubscribeToTask, which needs no cursor. */
  readonly cursor = undefined;
  private readonly space = new SendSpace();

  constructor(
    private readonly response: ServerResponse,
    private readonly options: SseOptions,
  ) {
    response.socket?.setTimeout(0);
    response.on('drain', () => this.space.notify());
    response.once('close', () => this.space.notify());
  }

  get open(): boolean {
    return !this.response.writableEnded && !this.response.destroyed;
  }

  beat(): void {
    this.response.write(': heartbeat\n\n');
  }

  /** A client that does not read gets no error event. */
  end({ code, detail }: StreamEnd): void {
    if (code === 'SLOW_CONSUMER') return void this.response.destroy();
    this.fail(new EdgeError(code === 'CREDENTIAL_ENDED' ? 401 : 503, code, detail, { code }));
  }

  fail(error: A2AError): void {
    if (this.open) this.response.end(formatSSEErrorEvent(this.options.errorData(error)));
  }

  /** Returns false if the connection is closed, or was closed because the client does not read. */
  async send(event: object): Promise<boolean> {
    if (!this.open) return false;
    this.response.write(formatSSEEvent(event));
    if (this.response.writableLength <= this.options.buffer) return true;
    if (!(await this.space.wait(this.options.slowAfterMs))) this.response.destroy();
    return this.open;
  }

  finish(): void {
    if (this.open) this.response.end();
  }
}
