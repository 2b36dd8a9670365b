import { writeFile } from 'node:fs/promises';
import type { PluginSink } from 'rollcall/plugin';

/** Appends the events of agents to a file. */
export function fileSink(path: string): PluginSink {
  return {
    name: 'file',
    types: ['agent.*'],
    deliver: async (events, signal) => {
      const lines = events.map((event) => `${JSON.stringify(event)}\n`);
      await writeFile(path, lines.join(''), { flag: 'a', signal });
    },
  };
}
