import { randomUUID } from 'node:crypto';
import { createHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadResult } from '../load.js';

/** One call of an agent. Returns the body of the response with its answer, and rejects if the answer is not the expected one. */
export type CallAgent = () => Promise<string>;

export interface Endpoint {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** What the answer of the agent contains. */
  readonly expected: string;
  readonly input: string;
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<string> {
  const json = { 'content-type': 'application/json', ...headers };
  const response = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) });
  return await response.text();
}

function checked(text: string, expected: string): string {
  if (text.includes(expected)) return text;
  throw new Error(`unexpected answer: ${text.slice(0, 500)}`);
}

/** `POST /v1/runs`, and then `GET /v1/runs/{id}` with waiting: two requests. */
export function restCalls({ url, headers, expected, input }: Endpoint, definition: string): CallAgent {
  return async () => {
    const { id } = JSON.parse(await post(`${url}/v1/runs`, headers, { definition, input })) as { id: string };
    const response = await fetch(`${url}/v1/runs/${id}?waitMs=50000`, { headers });
    return checked(await response.text(), expected);
  };
}

/** `POST /v1/runs?waitMs=30000`, which responds with the finished run. */
export function waitingPostCalls({ url, headers, expected, input }: Endpoint, definition: string): CallAgent {
  return async () => checked(await post(`${url}/v1/runs?waitMs=30000`, headers, { definition, input }), expected);
}

export interface RestCalls {
  readonly name: string;
  readonly call: CallAgent;
}

/** `POST /v1/runs?waitMs=30000` if the server supports it, or two requests. Older versions respond before the run is finished. */
export async function fastestRestCalls(at: Endpoint, definition: string): Promise<RestCalls> {
  const call = waitingPostCalls(at, definition);
  const isSupported = await call().then(
    () => true,
    () => false,
  );
  if (isSupported) return { call, name: 'POST ?waitMs' };
  return { call: restCalls(at, definition), name: 'POST, then GET ?waitMs' };
}

/** SendMessage of A2A over JSON-RPC. `url` is the URL of the agent. */
export function a2aCalls({ url, headers, expected, input }: Endpoint): CallAgent {
  return async () => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: input }] };
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
    return checked(await post(url, { ...headers, 'a2a-version': '1.0' }, body), expected);
  };
}

const MCP = '2026-07-28';

/** The tool `run_agent` of MCP. */
export function mcpCalls({ url, headers, expected, input }: Endpoint, agent: string): CallAgent {
  const own = {
    ...headers,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': MCP,
    'mcp-method': 'tools/call',
    'mcp-name': 'run_agent',
  };
  const _meta = { 'io.modelcontextprotocol/protocolVersion': MCP, 'io.modelcontextprotocol/clientCapabilities': {} };
  const params = { _meta, name: 'run_agent', arguments: { agent, input, waitMs: 50_000 } };
  return async () =>
    checked(await post(`${url}/mcp`, own, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }), expected);
}

/** Keeps this many connections busy, each with one call at a time. */
export async function busyLoad(call: CallAgent, connections: number, seconds: number): Promise<LoadResult> {
  const latencies = createHistogram();
  const started = performance.now();
  const work = async (): Promise<void> => {
    while (performance.now() - started < seconds * 1_000) await timed(call, latencies);
  };
  await Promise.all(Array.from({ length: connections }, work));
  return resultOf(latencies, (performance.now() - started) / 1_000);
}

/** Each connection begins one call in each interval, so that the latency includes no waiting in a queue. */
export async function pacedLoad(
  call: CallAgent,
  connections: number,
  { seconds, everyMs }: { seconds: number; everyMs: number },
): Promise<LoadResult> {
  const latencies = createHistogram();
  const started = performance.now();
  const work = async (_none: unknown, index: number): Promise<void> => {
    for (let at = (index * everyMs) / connections; at < seconds * 1_000; at += everyMs) {
      await delay(Math.max(0, at - (performance.now() - started)));
      await timed(call, latencies);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return resultOf(latencies, (performance.now() - started) / 1_000);
}

type Histogram = ReturnType<typeof createHistogram>;

async function timed(call: CallAgent, latencies: Histogram): Promise<void> {
  const begun = performance.now();
  await call();
  latencies.record(Math.ceil((performance.now() - begun) * 1_000));
}

function resultOf(latencies: Histogram, elapsed: number): LoadResult {
  const milliseconds = (percentile: number): number => Math.round(latencies.percentile(percentile) / 10) / 100;
  return { perSecond: latencies.count / elapsed, p50: milliseconds(50), p99: milliseconds(99) };
}
