/**
 * Changes a fleet over HTTP, in a separate process and at a limited rate: heartbeats with new load and latency, updates of prices
 * and labels, agents that join and leave. It replies to an order with `started`, and to `stop` with a report.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { agentIdOf, CAPABILITIES, leaseTokenOf, priceOf, TIERS, ZONES } from './query.fleet.js';
import { randomFrom } from './random.js';

export interface ChangeOrder {
  url: string;
  headers: Record<string, string>;
  /** The agents of `fillFleet`. */
  agents: number;
}

export interface ChangeReport {
  beats: number;
  updates: number;
  joins: number;
  leaves: number;
  seconds: number;
}

const TICK_MS = 100;
const BEATS_PER_TICK = 100;
const random = randomFrom(7);
const below = (limit: number): number => Math.floor(random() * limit);
const report: ChangeReport = { beats: 0, updates: 0, joins: 0, leaves: 0, seconds: 0 };
const stopping = new AbortController();
const busy = new Set<unknown>();

process.on('message', (order: ChangeOrder | 'stop') => {
  if (order === 'stop') stopping.abort();
  else void change(order);
});

async function change(order: ChangeOrder): Promise<void> {
  process.send?.('started');
  const started = performance.now();
  const pending: Promise<void>[] = [];
  for (let tick = 1; !stopping.signal.aborted; tick += 1) {
    pending.push(unlessBusy(beat, order), unlessBusy(update, order));
    if (tick % 2 === 0) pending.push(unlessBusy(joinAndLeave, order));
    await delay(Math.max(0, started + tick * TICK_MS - performance.now()));
  }
  await Promise.all(pending);
  process.send?.({ ...report, seconds: (performance.now() - started) / 1_000 } satisfies ChangeReport);
}

/** One request of each kind at a time: a machine that is too slow for the rate must not collect a backlog of changes. */
async function unlessBusy(kind: (order: ChangeOrder) => Promise<void>, order: ChangeOrder): Promise<void> {
  if (busy.has(kind)) return;
  busy.add(kind);
  await kind(order);
  busy.delete(kind);
}

async function beat({ url, headers, agents }: ChangeOrder): Promise<void> {
  const numbers = new Set(Array.from({ length: BEATS_PER_TICK }, () => 1 + below(agents)));
  const beats = [...numbers].map((number) => ({
    agentId: agentIdOf(number),
    leaseToken: leaseTokenOf(number),
    generation: 1,
    inFlight: below(10),
    latencyMs: 50 + below(400),
  }));
  await send(`${url}/v1/heartbeats`, 'POST', headers, { beats });
  report.beats += beats.length;
}

async function update({ url, agents }: ChangeOrder): Promise<void> {
  const number = 1 + below(agents);
  await send(`${url}/v1/agents/${agentIdOf(number)}`, 'PATCH', bearer(leaseTokenOf(number)), {
    generation: 1,
    costModel: { usdPerTask: null, usdPer1kTokens: priceOf(below(200)) },
    labels: { zone: ZONES[below(ZONES.length)], tier: TIERS[below(TIERS.length)] },
  });
  report.updates += 1;
}

/** An agent joins and, once it is registered, leaves. */
async function joinAndLeave({ url, headers }: ChangeOrder): Promise<void> {
  const answer = await send(`${url}/v1/agents`, 'POST', headers, {
    name: 'visitor',
    capabilities: [`area.skill-${below(CAPABILITIES)}`],
    costModel: { usdPer1kTokens: priceOf(below(200)) },
    labels: { zone: ZONES[below(ZONES.length)] },
    capacity: 8,
  });
  const { agentId, leaseToken } = (await answer.json()) as { agentId: string; leaseToken: string };
  report.joins += 1;
  await send(`${url}/v1/agents/${agentId}?generation=1`, 'DELETE', bearer(leaseToken));
  report.leaves += 1;
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

async function send(url: string, method: string, headers: Record<string, string>, body?: unknown): Promise<Response> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers: { ...headers, ...json }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${url} was rejected: ${await answer.text()}`);
  return answer;
}
