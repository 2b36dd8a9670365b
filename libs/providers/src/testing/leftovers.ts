import { until } from './until.js';

const KINDS = ['Timeout', 'TCPSocketWrap', 'TLSWrap', 'ProcessWrap', 'PipeWrap'];

/** What keeps this process busy right now, by kind: timers, sockets, child processes and their pipes. */
export function openResources(): Map<string, number> {
  const all = process.getActiveResourcesInfo();
  return new Map(KINDS.map((kind) => [kind, all.filter((one) => one === kind).length]));
}

/** Waits until there is no more of anything than there was `before`; the timer it waits with is not counted. */
export async function expectNothingLeft(before: Map<string, number>, withinMs = 1_000): Promise<void> {
  let left: string[] = [];
  const look = (): boolean => {
    left = [...openResources()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind);
    return left.length === 0;
  };
  await until('nothing is left behind', look, withinMs).catch((error: unknown) => {
    throw new Error(`still open: ${left.join(', ')}`, { cause: error });
  });
}
