import { createHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { LoadConnection } from './load.connection.js';

export interface LoadRequest {
  /** POST if there is a body, else GET. */
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface Load {
  url: string;
  /** The requests of one connection, sent one after the other and repeated; or a function that returns the next one. */
  requestsOf(connection: number): readonly LoadRequest[] | (() => LoadRequest);
}

export interface LoadResult {
  perSecond: number;
  /** In milliseconds. */
  p50: number;
  p99: number;
}

/**
 * Keeps a number of connections busy, each with one request at a time. The load shares two cores with the measured servers, so it
 * must be cheap: autocannon needs as much CPU time for a request as the servers do. Here, repeated requests are serialised
 * once, and only the status and the length of a response are read. The measured time ends with the last response:
 * requests that are cut off would not be counted, and the server would still work on them in the next round.
 */
export async function load({ url, requestsOf }: Load, connections: number, seconds: number): Promise<LoadResult> {
  const { hostname, port, host } = new URL(url);
  const latencies = createHistogram();
  const all = Array.from({ length: connections }, (_, number) => {
    const next = serialised(requestsOf(number), host);
    return new LoadConnection({ hostname, port: Number(port) }, next, (ms) => latencies.record(Math.ceil(ms * 1_000)));
  });
  await Promise.all(all.map(async (connection) => await connection.open()));
  const started = performance.now();
  for (const connection of all) connection.send();
  const broken = all.map(async (connection) => await connection.broken);
  await Promise.race([delay(seconds * 1_000), ...broken]);
  await Promise.race([Promise.all(all.map(async (connection) => await connection.finish())), ...broken]);
  const elapsed = (performance.now() - started) / 1_000;
  for (const connection of all) connection.close();
  const milliseconds = (percentile: number): number => Math.round(latencies.percentile(percentile) / 10) / 100;
  return { perSecond: latencies.count / elapsed, p50: milliseconds(50), p99: milliseconds(99) };
}

function serialised(requests: readonly LoadRequest[] | (() => LoadRequest), host: string): () => Buffer {
  if (typeof requests === 'function') return () => serialise(requests(), host);
  const texts = requests.map((request) => serialise(request, host));
  let next = 0;
  return () => texts[next++ % texts.length] ?? Buffer.alloc(0);
}

function serialise({ path, headers = {}, body, method }: LoadRequest, host: string): Buffer {
  const all = { host, ...headers, ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }) };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const verb = method ?? (body === undefined ? 'GET' : 'POST');
  return Buffer.from(`${verb} ${path} HTTP/1.1\r\n${head.join('')}\r\n${body ?? ''}`);
}
