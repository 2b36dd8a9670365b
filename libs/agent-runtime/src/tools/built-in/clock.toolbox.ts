import { z } from 'zod';
import { defineTool, type ToolBox, toolBox } from '../tool.js';

const Input = z.strictObject({
  timeZone: z.string().max(64).default('UTC').describe('A name such as Europe/Berlin. The default is UTC.'),
});

export function clockToolBox(now: () => number): ToolBox {
  const clock = defineTool({
    name: 'clock',
    description: 'Returns the current date and time.',
    input: Input,
    idempotent: true,
    execute: ({ timeZone }) => describeTime(now(), timeZone),
  });
  return toolBox('clock', [clock]);
}

function describeTime(now: number, timeZone: string): object {
  const time = new Date(now);
  const format = { dateStyle: 'full', timeStyle: 'long', timeZone } as const;
  return { utc: time.toISOString(), local: new Intl.DateTimeFormat('en-GB', format).format(time), timeZone };
}
