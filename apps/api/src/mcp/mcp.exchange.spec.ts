import type { ServerResponse } from 'node:http';
import { PacedConnection } from '#rollcall/test-support';
import { SseWriter } from '../streams/sse.writer.js';
import { McpStream } from './mcp.exchange.js';

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text));
}

const ignored = (): void => undefined;
const closed = async (): Promise<void> => await Promise.resolve();

function writerTo(connection: PacedConnection, slowAfterMs: number): SseWriter {
  return new SseWriter(connection as unknown as ServerResponse, { buffer: 4, slowAfterMs });
}

function streamTo(writer: SseWriter): McpStream {
  return new McpStream(writer, { close: closed, onError: ignored });
}

const bodyOf = (...texts: string[]): ReadableStream<Uint8Array> => ReadableStream.from(chunks(...texts));

describe('an MCP stream', () => {
  it('writes at the pace of the client, and ends when the body ends', async () => {
    const connection = new PacedConnection(false);
    const writer = writerTo(connection, 60_000);
    const copied = streamTo(writer).copy(bodyOf('first', 'second', 'third'));
    const resumed = new Promise<void>((resolve) => writer.onceSpace(resolve));
    await new Promise(setImmediate);
    expect([connection.written, writer.isFull]).toEqual(['first', true]);
    connection.read();
    await Promise.all([copied, resumed]);
    expect([connection.written, writer.open]).toEqual(['firstsecondthird', false]);
  });

  it('disconnects a client that does not read', async () => {
    const connection = new PacedConnection(false);
    await streamTo(writerTo(connection, 1)).copy(bodyOf('first', 'second'));
    expect([connection.written, connection.destroyed]).toEqual(['first', true]);
  });

  it('closes the handler of the SDK if a message cannot be converted', async () => {
    let closes = 0;
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const close = async (): Promise<void> => await Promise.resolve(void (closes += 1));
    const connection = new PacedConnection(true);
    const convert = async (): Promise<string> => await Promise.reject(new Error('no database'));
    await new McpStream(writerTo(connection, 1), { close, onError, convert }).copy(bodyOf('first'));
    expect([closes, connection.writableEnded, errors]).toEqual([1, true, [new Error('no database')]]);
  });
});
