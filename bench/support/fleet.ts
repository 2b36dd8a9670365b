import type { LoadRequest } from './load.js';
import type { Server } from './servers.js';

export interface BenchAgent {
  agentId: string;
  leaseToken: string;
}

const AT_ONCE = 32;

/** Registers agents over HTTP; their ids are numbered from `first`. */
export async function registerFleet({ url, headers }: Server, size: number, first = 0): Promise<BenchAgent[]> {
  const fleet: BenchAgent[] = [];
  const register = async (number: number): Promise<void> => {
    const answer = await fetch(`${url}/v1/agents`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ agentId: `agent-${number}`, name: `worker ${number}`, capabilities: ['build'] }),
    });
    if (answer.status !== 201) throw new Error(`agent-${number} was rejected: ${await answer.text()}`);
    fleet.push((await answer.json()) as BenchAgent);
  };
  let next = first;
  const worker = async (): Promise<void> => {
    while (next < first + size) await register(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return fleet;
}

/** A heartbeat as the agent sends it. */
export function beat({ agentId, leaseToken }: BenchAgent, path = `/v1/agents/${agentId}/heartbeat`): LoadRequest {
  const headers = { authorization: `Bearer ${leaseToken}`, 'content-type': 'application/json' };
  return { path, headers, body: JSON.stringify({ generation: 1, inFlight: 3 }) };
}
