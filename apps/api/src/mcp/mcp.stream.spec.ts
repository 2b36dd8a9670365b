import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { McpStream } from './mcp.stream.js';

/** A connection whose client reads when `read` is called. */
class Connection extends Writable {
  written = '';
  private pending: (() => void)[] = [];

  constructor(private isReading: boolean) {
    super({ highWaterMark: 4 });
  }

  read(): void {
    this.isReading = true;
    for (const done of this.pending.splice(0)) done();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += String(chunk);
    if (this.isReading) done();
    else this.pending.push(done);
  }
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

const ignored = (): void => undefined;
const closed = async (): Promise<void> => await Promise.resolve();

function streamTo(connection: Connection, slowAfterMs: number): McpStream {
  const response = connection as unknown as ServerResponse;
  return new McpStream(response, { buffer: 4, slowAfterMs, close: closed, onError: ignored });
}

const bodyOf = (...texts: string[]): ReadableStream<Uint8Array> => ReadableStream.from(chunks(...texts));

describe('an MCP stream', () => {
  it('writes at the pace of the client, and ends when the body ends', async () => {
    const connection = new Connection(false);
    const stream = streamTo(connection, 60_000);
    const copied = stream.copy(bodyOf('first', 'second', 'third'));
    const resumed = new Promise<void>((resolve) => stream.onSpace(resolve));
    await new Promise(setImmediate);
    expect([connection.written, stream.isFull]).toEqual(['first', true]);
    connection.read();
    await Promise.all([copied, resumed]);
    expect([connection.written, stream.open]).toEqual(['firstsecondthird', false]);
  });

  it('disconnects a client that does not read', async () => {
    const connection = new Connection(false);
    await streamTo(connection, 1).copy(bodyOf('first', 'second'));
    expect([connection.written, connection.destroyed]).toEqual(['first', true]);
  });

  it('closes the handler of the SDK if a message cannot be converted', async () => {
    let closes = 0;
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const close = async (): Promise<void> => await Promise.resolve(void (closes += 1));
    const response = new Connection(true) as unknown as ServerResponse;
    const convert = async (): Promise<string> => await Promise.reject(new Error('no database'));
    await new McpStream(response, { buffer: 4, slowAfterMs: 1, close, onError, convert }).copy(bodyOf('first'));
    expect([closes, response.writableEnded, errors]).toEqual([1, true, [new Error('no database')]]);
  });
});
