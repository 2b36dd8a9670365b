import type { ModelProvider, ModelReply, ModelRequest } from '#rollcall/providers';
import { ANSWER, CALLS, inputOf, TOOL } from './loop.side.js';

function replyTo({ messages }: ModelRequest): ModelReply {
  const call = messages.filter(({ role }) => role === 'assistant').length;
  const usage = { inputTokens: 100 + call * 20, outputTokens: 10 };
  if (call === CALLS) return { content: [{ type: 'text', text: ANSWER }], finish: 'stop', usage };
  const part = { type: 'tool-call' as const, id: `call-${call}`, name: TOOL.name, input: inputOf(call) };
  return { content: [part], finish: 'tool-calls', usage };
}

/** Answers at once, with the replies of the scenario. */
export const INSTANT_MODEL: ModelProvider = {
  vendor: 'bench',
  model: 'instant',
  complete: async (request) => replyTo(request),
  async *stream(request) {
    const reply = replyTo(request);
    for (const part of reply.content) {
      if (part.type === 'text') yield { type: 'text', text: part.text };
      if (part.type === 'tool-call') yield { type: 'tool-call', call: part };
    }
    yield { type: 'finished', reply };
  },
};
