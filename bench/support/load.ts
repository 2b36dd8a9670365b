import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

export interface LoadRequest {
  /** POST when there is a body, else GET. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Load {
  url: string;
  /** What the connection of this number asks, one after the other, over and over. */
  requestsOf(connection: number): readonly LoadRequest[];
}

export interface LoadResult {
  perSecond: number;
  /** In milliseconds. */
  p50: number;
  p99: number;
}

const READ_BYTES = 65_536;
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const LENGTH = Buffer.from('ontent-length: ');
const STATUS_AT = 'HTTP/1.1 '.length;

/**
 * Keeps so many connections busy, each with one request at a time. Written here because it shares two cores with what it
 * measures: autocannon takes as long for a request as the servers do, so that half of what it showed was itself. Requests
 * are made once, and of an answer only the status and the length are read.
 */
export async function load({ url, requestsOf }: Load, connections: number, seconds: number): Promise<LoadResult> {
  const { hostname, port, host } = new URL(url);
  const latencies = createHistogram();
  const lines = Array.from({ length: connections }, (_, number) => {
    const requests = requestsOf(number).map((request) => serialise(request, host));
    return new Line({ hostname, port: Number(port) }, requests, (ms) => latencies.record(Math.ceil(ms * 1_000)));
  });
  await Promise.all(lines.map(async (line) => await line.open()));
  const started = performance.now();
  for (const line of lines) line.ask();
  await Promise.race([delay(seconds * 1_000), ...lines.map(async (line) => await line.broken)]);
  const elapsed = (performance.now() - started) / 1_000;
  for (const line of lines) line.close();
  const milliseconds = (percentile: number): number => Math.round(latencies.percentile(percentile) / 10) / 100;
  return { perSecond: latencies.count / elapsed, p50: milliseconds(50), p99: milliseconds(99) };
}

function serialise({ path, headers = {}, body }: LoadRequest, host: string): Buffer {
  const all = { host, ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body ?? ''}`);
}

/** One connection. */
class Line {
  /** Rejects when the server hangs up or refuses; never resolves. */
  readonly broken: Promise<never>;
  private readonly socket: Socket;
  private readonly fail: (reason: Error) => void;
  private next = 0;
  private askedAt = 0;
  /** Bytes of the current answer that have not come yet; 0 before its head is read. */
  private missing = 0;
  private head = Buffer.alloc(0);
  private closed = false;

  constructor(
    at: { hostname: string; port: number },
    private readonly requests: readonly Buffer[],
    private readonly done: (ms: number) => void,
  ) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.broken = promise;
    this.fail = reject;
    const onread = { buffer: Buffer.alloc(READ_BYTES), callback: this.read.bind(this) };
    this.socket = connect({ host: at.hostname, port: at.port, noDelay: true, onread });
  }

  async open(): Promise<void> {
    await once(this.socket, 'connect');
    this.socket.on('error', this.fail);
    this.socket.on('close', () => this.closed || this.fail(new Error('the server hung up under load')));
  }

  ask(): void {
    this.askedAt = performance.now();
    this.socket.write(this.requests[this.next] ?? '');
    this.next = (this.next + 1) % this.requests.length;
  }

  close(): void {
    this.closed = true;
    this.socket.destroy();
  }

  private read(bytes: number, buffer: Uint8Array): boolean {
    const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, bytes);
    if (this.missing > 0) this.missing -= bytes;
    else this.readHead(this.head.length > 0 ? Buffer.concat([this.head, chunk]) : chunk);
    if (this.missing === 0 && this.head.length === 0) {
      this.done(performance.now() - this.askedAt);
      if (!this.closed) this.ask();
    }
    return true;
  }

  private readHead(chunk: Buffer): void {
    const end = chunk.indexOf(END_OF_HEAD);
    if (end < 0) {
      this.head = Buffer.from(chunk);
      return;
    }
    this.head = Buffer.alloc(0);
    const length = chunk.indexOf(LENGTH) + LENGTH.length;
    if (chunk[STATUS_AT] !== 0x32 || length < LENGTH.length)
      this.fail(new Error(`refused under load: ${chunk.toString('latin1')}`));
    this.missing =
      end + END_OF_HEAD.length + Number.parseInt(chunk.toString('latin1', length, length + 9), 10) - chunk.length;
  }
}
