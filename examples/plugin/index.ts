import { definePlugin, z } from 'rollcall/plugin';
import { noCardNumbers, noPasswords } from './guardrail.js';
import { stopwatch } from './middleware.js';
import { mirror } from './provider.js';
import { soonest } from './scoring-rule.js';
import { fileSink } from './sink.js';
import { mostCapable } from './strategy.js';
import { greetIn } from './tool.js';
import { games } from './toolbox.js';
import { exampleVendor } from './vendor.js';

export default definePlugin({
  name: 'example',
  version: '1.0.0',
  rollcall: '^0.1.0',
  config: z.object({ language: z.enum(['en', 'fr']).default('en'), events: z.string().optional() }),
  setup: ({ config: { language, events } }) => ({
    tools: [greetIn(language)],
    eventSinks: events === undefined ? [] : [fileSink(events)],
  }),
  toolBoxes: [games],
  skills: [new URL('../skills', import.meta.url)],
  agentProviders: [mirror],
  modelVendors: [exampleVendor],
  strategies: [mostCapable],
  scoringRules: [soonest],
  middleware: [stopwatch],
  inputGuardrails: [noCardNumbers],
  outputGuardrails: [noPasswords],
  definitions: [
    {
      name: 'butler',
      description: 'Greets.',
      model: { vendor: 'example', model: 'butler' },
      tools: ['greet'],
      skills: [{ name: 'manners', mode: 'preload' }],
    },
    { name: 'mirror', description: 'Returns messages backwards.', provider: 'mirror' },
  ],
});
