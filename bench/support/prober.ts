import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadRequest } from './load.js';

export interface Probe {
  count: number;
  failed: number;
  /** In milliseconds. */
  p50: number;
  p99: number;
  max: number;
}

const PAUSE_MS = 20;

/** Repeats a request on one connection, with a short pause after each response, and measures the latency. */
export async function probe(url: string, what: LoadRequest, isOver: () => boolean): Promise<Probe> {
  const latencies = createHistogram();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let failed = 0;
  while (!isOver()) {
    if (!(await send(url, what, agent, latencies))) failed += 1;
    await delay(PAUSE_MS);
  }
  agent.destroy();
  const milliseconds = (microseconds: number): number => Math.round(microseconds / 100) / 10;
  return {
    count: latencies.count,
    failed,
    p50: milliseconds(latencies.percentile(50)),
    p99: milliseconds(latencies.percentile(99)),
    max: milliseconds(latencies.max),
  };
}

async function send(url: string, what: LoadRequest, agent: Agent, latencies: RecordableHistogram): Promise<boolean> {
  const started = performance.now();
  try {
    const sent = request(url + what.path, {
      agent,
      method: what.body === undefined ? 'GET' : 'POST',
      headers: what.headers,
    });
    const [answer] = (await once(sent.end(what.body), 'response')) as [IncomingMessage];
    await once(answer.resume(), 'end');
    return answer.statusCode === 200;
  } catch {
    return false; // a request without a response counts as failed
  } finally {
    latencies.record(Math.max(1, Math.round((performance.now() - started) * 1_000)));
  }
}
