import { defineModel, type ModelVendor } from 'rollcall/plugin';

/** A model that calls `greet` with the message, and repeats what the tool returned. */
const butler = defineModel({
  vendor: 'example',
  model: 'butler',
  complete: async ({ messages }) => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const last = messages.at(-1);
    if (last?.role === 'tool') {
      const text = last.content.map(({ output }) => output).join('');
      return { content: [{ type: 'text', text }], finish: 'stop', usage };
    }
    const parts = last?.role === 'user' ? last.content : [];
    const name = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    return {
      content: [{ type: 'tool-call', id: 'greet-1', name: 'greet', input: { name } }],
      finish: 'tool-calls',
      usage,
    };
  },
});

export const exampleVendor: ModelVendor = { name: 'example', needsKey: false, open: () => butler };
