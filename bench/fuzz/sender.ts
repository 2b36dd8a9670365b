import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type ResponseHead, ResponseReader } from './response.reader.js';
import type { Part, Wire } from './wire.js';

/** The result of a request. */
export interface Exchange {
  head?: ResponseHead;
  body: Buffer;
  /** The sizes of the response and of the request in bytes. */
  received: number;
  sent: number;
  /** The time from the last byte of the request to the last byte of the response, or to the timeout. */
  ms: number;
  /** The server neither responded nor closed the connection in time. */
  timedOut: boolean;
  /**
   * The server responded and closed the connection before it had the whole request. Node then destroys the socket of this
   * client, sometimes before the response is read; other clients read it.
   */
  brokenPipe?: boolean;
  fault?: string;
}

export interface SendOptions {
  port: number;
  method: string;
  /** The head of the response is enough. */
  headOnly: boolean;
  waitMs: number;
}

/** The minimum wait for a response to a request that may stay unanswered. */
const MIN_WAIT_MS = 100;

/** Sends the bytes on a new connection and reads one response. */
export async function send(wire: Wire, options: SendOptions): Promise<Exchange> {
  const socket = await open(options.port);
  let brokenPipe = false;
  socket.on('error', ({ code }: NodeJS.ErrnoException) => (brokenPipe = code === 'EPIPE'));
  const reader = new ResponseReader(options.method);
  const over = reading(socket, reader, options.headOnly);
  const sent = await sendParts(socket, wire.parts, reader);
  const sentAt = performance.now();
  if (wire.after === 'end') socket.end();
  if (wire.after === 'destroy') socket.destroy();
  const waitMs = wire.mayStaySilent ? Math.max(MIN_WAIT_MS, Math.min(options.waitMs, 1_000)) : options.waitMs;
  const timer = new AbortController();
  const timedOut = await Promise.race([over, delay(waitMs, true, { signal: timer.signal })]);
  timer.abort();
  socket.destroy();
  const { head, body, size: received, fault } = reader;
  const ms = performance.now() - sentAt;
  const silent = timedOut && !wire.mayStaySilent;
  return { head, body, received, sent, ms, timedOut: silent, brokenPipe, ...(fault && { fault }) };
}

export async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  await once(socket, 'connect');
  socket.on('error', () => socket.destroy()); // a response that arrived before the error is already read
  return socket;
}

/** Resolves to false when the response is complete or the connection is closed. */
async function reading(socket: Socket, reader: ResponseReader, headOnly: boolean): Promise<false> {
  return await new Promise((resolve) => {
    const done = (): void => resolve(false);
    socket.on('data', (chunk: Buffer) => {
      reader.push(chunk);
      if (reader.complete || reader.fault !== undefined || (headOnly && reader.head)) done();
    });
    socket.on('end', () => {
      reader.end();
      done();
    });
    socket.on('close', () => {
      reader.end();
      done();
    });
  });
}

/** Stops early when the server has responded or closed the connection. */
async function sendParts(socket: Socket, parts: readonly Part[], reader: ResponseReader): Promise<number> {
  let sent = 0;
  for (const { bytes, afterMs } of parts) {
    if (afterMs > 0) await delay(afterMs);
    if (socket.destroyed || reader.complete) return sent;
    sent += bytes.length;
    if (!socket.write(bytes)) await drained(socket);
  }
  return sent;
}

/** Resolves when the buffer is sent or the socket is closed. */
async function drained(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}
