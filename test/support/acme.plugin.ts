import { Controller, Get, Inject, Logger, Module } from '@nestjs/common';
import { z } from 'zod';
import {
  AgentFactoryRegistry,
  Caller,
  type CloudEvent,
  defineModel,
  definePlugin,
  defineTool,
  loadFromDirectory,
  logger,
  outputGuardrail,
  Permit,
  type Plugin,
  type Principal,
  ReactAgent,
  recovery,
  textPart,
  timeout,
  Tool,
  toolBox,
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

/** How many runs the middleware of this process has seen. */
let runs = 0;

@Controller('desk')
class DeskController {
  constructor(@Inject(ToolCatalog) private readonly tools: ToolCatalog) {}

  @Get('tools')
  @Permit('tools:read')
  list(@Caller() { namespace }: Principal): { tools: string[] } {
    return { tools: this.tools.list(namespace).map(({ tool }) => tool.name) };
  }

  @Get('runs')
  @Permit('tools:read')
  count(): { runs: number } {
    return { runs };
  }

  @Get('crew')
  @Permit('tools:read')
  async crew(): Promise<{ names: string[]; spawned: string[] }> {
    const registry = crew();
    const agents = [await registry.spawn('acme-echo', 1), await registry.spawn('acme-echo', 1)];
    return { names: registry.list().map(({ name }) => name), spawned: [...new Set(agents)].map(({ name }) => name) };
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
    if (text === 'crash') throw new TypeError('the vendor crashed');
    if (name === undefined) return { content: [{ type: 'text', text: `you said ${text}` }], finish: 'stop', usage };
    const call = { type: 'tool-call', id: 'c1', name, input: JSON.parse(input || '{}') as unknown } as const;
    return await Promise.resolve({ content: [call], finish: 'tool-calls', usage });
  },
});

const says = (answer: string) =>
  defineTool({ name: 'which_box', description: 'Names its toolbox.', execute: () => answer });

function crew(): AgentFactoryRegistry {
  return new AgentFactoryRegistry()
    .register('acme-echo', 'Echoes.', () => new EchoAgent('acme-echo'))
    .register('acme-leader', 'Leads.', leader);
}

/** An agent that the plugin composes of a model, toolboxes and middleware. */
function leader(): ReactAgent {
  const agent = new ReactAgent({
    name: 'acme-leader',
    description: 'Leads.',
    instructions: 'You lead.',
    model: parrot,
    runMiddleware: [
      logger(new Logger('acme'), 'acme'),
      recovery(new Logger('acme')),
      timeout(60_000),
      outputGuardrail((text) => ({ replace: `${text}, checked` })),
    ],
  });
  agent.addToolBoxes(toolBox('one', [says('box one')]), toolBox('two', [says('box two')]));
  return agent;
}

/** A plugin with every kind of part. Its sink appends to `received`. */
export function acmePlugin(received: CloudEvent[] = []): Plugin {
  let deliveries = 0;
  return definePlugin<{ city: string; agents?: string | undefined }>({
    name: 'acme',
    version: '1.2.3',
    rollcall: '>=0.1.0',
    config: z.object({ city: z.string(), agents: z.string().optional() }),
    setup: async ({ config: { city, agents } }) => ({
      definitions:
        agents === undefined
          ? []
          : (await loadFromDirectory(agents)).loaded.map(({ name, content }) => Object.assign({ name }, content)),
      tools: [
        defineTool({
          name: 'acme_forecast',
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
        tools: ['acme_forecast', 'acme_time', 'acme_fails', 'acme_hangs', 'delegate_to_agent'],
      },
    ],
    factories: [
      { name: 'acme-echo', description: 'Echoes.', create: () => new EchoAgent('acme-echo') },
      { name: 'acme-leader', description: 'Leads.', create: leader },
      { name: 'acme-lost', description: 'Fails.', create: () => Promise.reject(new Error('the agent is lost')) },
    ],
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
    middleware: [
      { name: 'quiet', observe: () => ({ onStart: () => void (runs += 1) }) },
      {
        name: 'strict',
        async *run(call, next) {
          if (call.context.agentName === 'broken') throw new Error('the middleware broke');
          return yield* next(call);
        },
      },
    ],
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
          deliveries += 1;
          if (deliveries === 1) throw new Error('the destination is down');
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
