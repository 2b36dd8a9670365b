import type { RunMiddleware } from 'rollcall/plugin';

/** The milliseconds of each run, by agent. */
export const durations = new Map<string, number>();

export const stopwatch: RunMiddleware = {
  name: 'stopwatch',
  observe: ({ context }) => {
    const startedAt = performance.now();
    return { onEnd: () => void durations.set(context.agentName, performance.now() - startedAt) };
  },
};
