import {
  type AgentEvent,
  type AgentMessage,
  defineModel,
  definePlugin,
  defineTool,
  textOfParts,
  textPart,
  TrackedAgent,
  z,
} from 'rollcall/plugin';

/** A tool, with its configuration. */
const greetIn = (language: string) =>
  defineTool({
    name: 'greet',
    description: 'Greets a person.',
    input: z.object({ name: z.string() }),
    idempotent: true,
    execute: ({ name }) => (language === 'fr' ? `Bonjour ${name}` : `Hello ${name}`),
  });

/** A model that calls `greet` with the message, and repeats what the tool returned. */
const butler = defineModel({
  vendor: 'example',
  model: 'butler',
  complete: async ({ messages }) => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const last = messages.at(-1);
    if (last?.role === 'tool')
      return {
        content: [{ type: 'text', text: last.content.map(({ output }) => output).join('') }],
        finish: 'stop',
        usage,
      };
    const name =
      last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
    return {
      content: [{ type: 'tool-call', id: 'greet-1', name: 'greet', input: { name } }],
      finish: 'tool-calls',
      usage,
    };
  },
});

/** An agent with a loop of its own: it returns the message backwards. */
class MirrorAgent extends TrackedAgent {
  readonly agentType = 'sdk';

  protected async *respond({ parts }: AgentMessage): AsyncGenerator<AgentEvent> {
    const text = [...textOfParts(parts)].reverse().join('');
    yield { type: 'finished', result: { outcome: 'completed', parts: [textPart(text)], usage: {} } };
  }
}

export default definePlugin({
  name: 'example',
  version: '1.0.0',
  rollcall: '^0.1.0',
  config: z.object({ language: z.enum(['en', 'fr']).default('en') }),
  setup: ({ config }) => ({ tools: [greetIn(config.language)] }),
  modelVendors: [{ name: 'example', needsKey: false, open: () => butler }],
  agentProviders: [{ name: 'mirror', agentType: 'sdk', createAgent: async ({ name }) => new MirrorAgent(name) }],
  strategies: [
    {
      name: 'most-capable',
      scoreMeaning: 'number of capabilities; higher is better',
      best: 'highest',
      score: ({ record }) => record.capabilities.length,
    },
  ],
  outputGuardrails: [(text) => (/password/i.test(text) ? { reject: 'it contains a password' } : undefined)],
  definitions: [
    { name: 'butler', description: 'Greets.', model: { vendor: 'example', model: 'butler' }, tools: ['greet'] },
    { name: 'mirror', description: 'Returns messages backwards.', provider: 'mirror' },
  ],
});
