import { setTimeout as delay } from 'node:timers/promises';
import { GROUP_SIZE, groupOf } from './clients.js';
import type { FaultWindow } from './faults.js';
import type { Replica } from './deployment.js';

const MAX_TRIES = 20;

export interface LoggedEvent {
  id: string;
  type: string;
  subject: string;
  time: string;
  data: { reason?: string };
}

/** Retries as the documented clients do, because the machine may be busy. */
async function call<Body>(what: Pick<Replica, 'url' | 'headers'>, path: string, body?: object): Promise<Body> {
  for (let tries = 1; ; tries++) {
    try {
      return await callOnce<Body>(what, path, body);
    } catch (error) {
      if (tries === MAX_TRIES) throw error;
      await delay(500);
    }
  }
}

async function callOnce<Body>(
  { url, headers }: Pick<Replica, 'url' | 'headers'>,
  path: string,
  body?: object,
): Promise<Body> {
  const json = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const type = body ? { 'content-type': 'application/json' } : {};
  const signal = AbortSignal.timeout(5_000);
  const response = await fetch(url + path, { headers: { ...headers, ...type }, signal, ...json });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as Body;
}

/** How many agents are routable on a replica; 0 while the replica does not respond. */
export async function routable(replica: Replica, agents: number): Promise<number> {
  let count = 0;
  for (let first = 0; first < agents; first += GROUP_SIZE) {
    const body = { capabilities: [groupOf(first)], limit: GROUP_SIZE };
    const answer = call<{ candidates: unknown[] }>(replica, '/v1/agents/query', body);
    count += await answer.then(({ candidates }) => candidates.length).catch(() => 0);
  }
  return count;
}

/** Reads the whole log up to its current head. */
export async function readLog(replica: Replica): Promise<LoggedEvent[]> {
  const log: LoggedEvent[] = [];
  for (let after = 'oldest'; ;) {
    const page = await call<{ items: LoggedEvent[]; next: string; head: string }>(
      replica,
      `/v1/events?limit=1000&after=${encodeURIComponent(after)}`,
    );
    log.push(...page.items);
    if (page.next === page.head) return log;
    after = page.next;
  }
}

/** Groups evictions by the fault that was active at that time, or `healed` if none was. */
export function evictionsIn(log: readonly LoggedEvent[], windows: readonly FaultWindow[]): Map<string, LoggedEvent[]> {
  const evictions = log.filter(({ type, data }) => type === 'agent.left' && data.reason === 'evicted');
  return Map.groupBy(evictions, ({ time }) => {
    const at = Date.parse(time);
    return windows.find(({ from, to }) => from <= at && at <= to)?.kind ?? 'healed';
  });
}

/** Changes agents through the proxy a few times per second, so that there are always events that a consumer could miss. */
export async function keepChanging(url: string, replica: Replica, agents: number, over: AbortSignal): Promise<void> {
  for (let tick = 0; !over.aborted; tick++) {
    const change = fetch(`${url}/v1/agents/storm-${tick % agents}`, {
      method: 'PATCH',
      headers: { ...replica.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ labels: { tick: String(tick) } }),
      signal: AbortSignal.timeout(2_000),
    });
    await change.then(async (response) => await response.body?.cancel()).catch(() => undefined); // a failed change is not repeated
    await delay(200);
  }
}
