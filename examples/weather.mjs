import { definePlugin, defineTool, z } from 'rollcall/plugin';

const forecast = defineTool({
  name: 'forecast',
  description: 'Returns the weather of a city.',
  input: z.object({ city: z.string() }),
  idempotent: true,
  execute: ({ city }) => `It is sunny in ${city}.`,
});

export default definePlugin({
  name: 'weather',
  tools: [forecast],
  definitions: [{ name: 'weatherman', description: 'Knows the weather.', tools: ['forecast'] }],
});
