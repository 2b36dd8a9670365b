import { until } from '#rollcall/test-support';

const KINDS = ['Timeout', 'TCPSocketWrap', 'TLSWrap', 'ProcessWrap', 'PipeWrap'];

/** Counts the open resources of this process by kind: timers, sockets, child processes and their pipes. */
export function openResources(): Map<string, number> {
  const all = process.getActiveResourcesInfo();
  return new Map(KINDS.map((kind) => [kind, all.filter((one) => one === kind).length]));
}

/** Shorter than any timeout of the egress client, because a timer that was forgotten ends by itself after its timeout. */
const RELEASE_WITHIN_MS = 2_500;

/** Waits until this process has no more open resources than `before`. The timer of the wait itself is not counted. */
export async function expectNoOpenResources(before: Map<string, number>, withinMs = RELEASE_WITHIN_MS): Promise<void> {
  let left: string[] = [];
  const check = (): boolean => {
    left = [...openResources()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind);
    return left.length === 0;
  };
  await until('all resources are released', check, withinMs).catch((error: unknown) => {
    throw new Error(`still open: ${left.join(', ')}`, { cause: error });
  });
}
