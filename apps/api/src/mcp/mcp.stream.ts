import type { ServerResponse } from 'node:http';
import { SendSpace } from '../streams/send.space.js';
import type { StreamConnection } from '../streams/stream.connections.js';

export interface McpStreamOptions {
  /** The maximum number of bytes in the send buffer. */
  readonly buffer: number;
  readonly slowAfterMs: number;
  /** Closes the handler of the SDK, which ends the stream. */
  readonly close: () => Promise<void>;
  /** Receives the error that ended the stream. */
  readonly onError: (error: unknown) => void;
  /** Changes a message before it is sent. */
  readonly convert?: (message: string) => Promise<string>;
}

/** Writes a stream of the SDK at the pace of the connection. A client whose buffer stays full for too long is disconnected. */
export class McpStream implements StreamConnection {
  /** MCP streams cannot be resumed: a client sends its request again. */
  readonly cursor = undefined;
  private readonly space = new SendSpace();
  private onceSpace?: () => void;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: McpStreamOptions,
  ) {
    response.socket?.setTimeout(0);
    response.on('drain', () => this.onDrain());
    response.once('close', () => this.space.notify());
  }

  get open(): boolean {
    return !this.response.writableEnded && !this.response.destroyed;
  }

  get isFull(): boolean {
    return this.response.writableLength > this.options.buffer;
  }

  /** Calls the function once, when the send buffer has space again. */
  onSpace(act: () => void): void {
    this.onceSpace = act;
  }

  beat(): void {
    this.response.write(': heartbeat\n\n');
  }

  end(): void {
    void this.options.close();
  }

  /** Never rejects: if a message cannot be converted, the stream ends, and the client subscribes again. */
  async copy(chunks: ReadableStream<Uint8Array>): Promise<void> {
    const { convert } = this.options;
    const decoder = new TextDecoder();
    try {
      for await (const chunk of chunks) {
        if (!(await this.send(convert ? await convert(decoder.decode(chunk)) : chunk))) return;
      }
    } catch (error) {
      this.options.onError(error);
      this.end();
    }
    if (this.open) this.response.end();
  }

  /** Returns false if the connection is closed. */
  private async send(chunk: Uint8Array | string): Promise<boolean> {
    if (!this.open) return false;
    this.response.write(chunk);
    if (!this.isFull) return true;
    if (!(await this.space.wait(this.options.slowAfterMs))) this.response.destroy();
    return this.open;
  }

  private onDrain(): void {
    this.space.notify();
    const act = this.onceSpace;
    this.onceSpace = undefined;
    act?.();
  }
}
