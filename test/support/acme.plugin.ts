import { Controller, Get, Inject, Module } from '@nestjs/common';
import { z } from 'zod';
import {
  Caller,
  type CloudEvent,
  defineModel,
  definePlugin,
  defineTool,
  Permit,
  type Plugin,
  type Principal,
  textPart,
  Tool,
  ToolCatalog,
  toolBoxOf,
  TrackedAgent,
} from '../../apps/api/src/package/plugin.js';

class EchoAgent extends TrackedAgent {
  readonly agentType = 'sdk';

  protected async *respond({ parts }: { parts: readonly { type: string; text?: string }[] }) {
    const text = await Promise.resolve(parts.map((part) => part.text ?? '').join(''));
    yield {
      type: 'finished',
      result: { outcome: 'completed', parts: [textPart(`echo: ${text}`)], usage: {} },
    } as const;
  }
}

class AcmeClock {
  @Tool({ description: 'Returns a time.' })
  acme_time(): string {
    return 'noon';
  }
}

@Controller('desk')
class DeskController {
  constructor(@Inject(ToolCatalog) private readonly tools: ToolCatalog) {}

  @Get('tools')
  @Permit('tools:read')
  list(@Caller() { namespace }: Principal): { tools: string[] } {
    return { tools: this.tools.list(namespace).map(({ tool }) => tool.name) };
  }

  @Get('undeclared')
  undeclared(): string {
    return 'never sent';
  }
}

@Module({ controllers: [DeskController] })
class DeskModule {}

/** The model calls the tool that the message names as `use <tool>`, repeats its result, and repeats all other messages. */
const parrot = defineModel({
  vendor: 'parrot',
  model: 'p1',
  async complete({ messages }) {
    const usage = { inputTokens: 10, outputTokens: 5 };
    const last = messages.at(-1);
    if (last?.role === 'tool') {
      const output = last.content.map((part) => part.output).join('');
      return { content: [{ type: 'text', text: `tool said ${output}` }], finish: 'stop', usage };
    }
    const text =
      last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
    const [, name, input] = /^use (\w+) ?(.*)$/.exec(text) ?? [];
    if (name === undefined) return { content: [{ type: 'text', text: `you said ${text}` }], finish: 'stop', usage };
    const call = { type: 'tool-call', id: 'c1', name, input: JSON.parse(input || '{}') as unknown } as const;
    return await Promise.resolve({ content: [call], finish: 'tool-calls', usage });
  },
});

/** A plugin with every kind of part. Its sink appends to `received`. */
export function acmePlugin(received: CloudEvent[] = []): Plugin {
  return definePlugin<{ city: string }>({
    name: 'acme',
    version: '1.2.3',
    rollcall: '>=0.1.0',
    config: z.object({ city: z.string() }),
    setup: ({ config: { city } }) => ({
      tools: [
        defineTool({
          name: 'forecast',
          description: 'Returns the weather.',
          input: z.object({ day: z.string().default('today') }),
          idempotent: true,
          execute: ({ day }) => `sunny in ${city} ${day}`,
        }),
      ],
    }),
    tools: [
      defineTool({
        name: 'acme_fails',
        description: 'Fails.',
        execute: () => Promise.reject(new Error('out of order')),
      }),
      defineTool({
        name: 'acme_hangs',
        description: 'Hangs.',
        timeoutMs: 50,
        execute: () => new Promise(() => undefined),
      }),
    ],
    toolBoxes: [toolBoxOf(new AcmeClock())],
    definitions: [
      {
        name: 'acme-guide',
        description: 'Guides.',
        model: { vendor: 'parrot', model: 'p1' },
        tools: ['forecast', 'acme_time', 'acme_fails', 'acme_hangs', 'delegate_to_agent'],
      },
    ],
    factories: [{ name: 'acme-echo', description: 'Echoes.', create: () => new EchoAgent('acme-echo') }],
    agentProviders: [
      { name: 'echo', agentType: 'sdk', createAgent: async ({ name }) => await Promise.resolve(new EchoAgent(name)) },
    ],
    modelVendors: [{ name: 'parrot', needsKey: false, open: () => parrot }],
    strategies: [
      {
        name: 'shortest-name',
        scoreMeaning: 'characters; lower is better',
        best: 'lowest',
        score: ({ record }) => (record.name.startsWith('odd') ? NaN : record.name.length),
      },
    ],
    scoringRules: [
      {
        name: 'dearest',
        score: (contenders) =>
          contenders.map(({ agentId, offer }) => ({
            agentId,
            score: offer.price === 13 ? NaN : offer.price / 1_000_000,
            parts: { price: 1, eta: 0, confidence: 0, reliability: 0 },
          })),
      },
    ],
    middleware: [{ name: 'quiet', observe: () => ({}) }],
    inputGuardrails: [
      async (text) => {
        if (text.includes('stall')) await new Promise(() => undefined);
        if (text.includes('explode')) throw new Error('the check exploded');
        return text.includes('forbidden') ? { reject: 'it is forbidden' } : undefined;
      },
    ],
    outputGuardrails: [(text) => (text.includes('secret') ? { replace: text.replaceAll('secret', '***') } : undefined)],
    eventSinks: [
      {
        name: 'list',
        types: ['agent.*'],
        async deliver(events) {
          received.push(...(await Promise.resolve(events)));
        },
      },
    ],
    budgetSources: [
      {
        name: 'meter',
        usage: async ({ agentIds }) =>
          await Promise.resolve(new Map(agentIds.map((id) => [id, { tokens: 42, microUsd: 0 }]))),
      },
    ],
    modules: [DeskModule],
  });
}
