import type { HttpCase } from './fuzz-case.js';
import { fill, type SlotValues } from './slots.js';

export interface Part {
  bytes: Buffer;
  /** The pause before this part is sent. */
  afterMs: number;
}

/** The bytes of a request, and what the client does after sending them. */
export interface Wire {
  parts: Part[];
  after: 'read' | 'end' | 'destroy';
  /** A missing response is not a fault: the request is incomplete or not valid HTTP. */
  mayStaySilent: boolean;
}

const SLOW_MS = 40;
const SLOW_PARTS = 4;

export function toWire(request: HttpCase, host: string, values: SlotValues): Wire {
  const body = bytesOf(request, values);
  const lengths = lengthHeaders(request, body);
  const head = headOf(request, host, lengths, values);
  const { delivery } = request;
  if (delivery === 'truncated' || delivery === 'abandoned') {
    const after = delivery === 'truncated' ? 'end' : 'destroy';
    return { parts: [part(head), part(cut(body ?? head), SLOW_MS)], after, mayStaySilent: true };
  }
  const mayStaySilent = ['bad-chunk', 'long-length'].includes(delivery);
  const after = mayStaySilent ? 'end' : 'read';
  return { parts: partsOf(request, head, body), after, mayStaySilent };
}

function partsOf({ delivery }: HttpCase, head: Buffer, body: Buffer | undefined): Part[] {
  if (delivery === 'slow-head') return slowly(Buffer.concat([head, body ?? Buffer.alloc(0)]));
  if (delivery === 'pipelined')
    return [part(Buffer.concat([head, body ?? Buffer.alloc(0), head, body ?? Buffer.alloc(0)]))];
  if (body === undefined) return [part(head)];
  if (delivery === 'slow-body') return [part(head), ...slowly(body)];
  if (delivery === 'chunked') return [part(Buffer.concat([head, chunk(body), Buffer.from('0\r\n\r\n')]))];
  if (delivery === 'bad-chunk') return [part(Buffer.concat([head, Buffer.from('zz\r\n'), body]))];
  return [part(Buffer.concat([head, body]))];
}

function headOf(request: HttpCase, host: string, lengths: [string, string][], values: SlotValues): Buffer {
  const named = request.headers.some(([name]) => name.toLowerCase() === 'host');
  const headers: [string, string][] = [
    ...(named ? [] : [['Host', host] as [string, string]]),
    ...request.headers,
    ...lengths,
  ];
  const lines = headers.map(([name, value]) => `${name}: ${fill(value, values)}\r\n`).join('');
  return Buffer.from(`${request.method} ${fill(request.target, values)} HTTP/1.1\r\n${lines}\r\n`, 'latin1');
}

function bytesOf({ body, binary }: HttpCase, values: SlotValues): Buffer | undefined {
  return body === undefined ? undefined : Buffer.from(fill(body, values), binary ? 'latin1' : 'utf8');
}

function lengthHeaders({ delivery }: HttpCase, body: Buffer | undefined): [string, string][] {
  if (body === undefined) return [];
  const length = (bytes: number): [string, string] => ['Content-Length', String(bytes)];
  const chunked: [string, string] = ['Transfer-Encoding', 'chunked'];
  if (delivery === 'chunked' || delivery === 'bad-chunk') return [chunked];
  if (delivery === 'two-lengths')
    return [length(body.length), body.length % 2 === 0 ? length(body.length + 1) : chunked];
  if (delivery === 'short-length') return [length(Math.floor(body.length / 2))];
  if (delivery === 'long-length') return [length(body.length + 10)];
  return [length(body.length)];
}

function part(bytes: Buffer, afterMs = 0): Part {
  return { bytes, afterMs };
}

function cut(bytes: Buffer): Buffer {
  return bytes.subarray(0, Math.floor(bytes.length / 2));
}

function slowly(bytes: Buffer): Part[] {
  const size = Math.max(1, Math.ceil(bytes.length / SLOW_PARTS));
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    part(bytes.subarray(n * size, (n + 1) * size), SLOW_MS),
  );
}

function chunk(body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}
