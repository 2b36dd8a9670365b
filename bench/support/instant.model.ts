import type { ModelProvider, ModelReply, ModelRequest } from '#rollcall/providers';
import { ANSWER, CALLS, inputOf, TOOL } from './loop.side.js';

function replyTo({ messages }: ModelRequest, calls: number): ModelReply {
  const call = messages.filter(({ role }) => role === 'assistant').length;
  const usage = { inputTokens: 100 + call * 20, outputTokens: 10 };
  if (call === calls) return { content: [{ type: 'text', text: ANSWER }], finish: 'stop', usage };
  const part = { type: 'tool-call' as const, id: `call-${call}`, name: TOOL.name, input: inputOf(call) };
  return { content: [part], finish: 'tool-calls', usage };
}

/** Answers at once, after this number of replies that each call the tool. */
export function instantModel(calls = CALLS): ModelProvider {
  return {
    vendor: 'bench',
    model: 'instant',
    complete: async (request) => replyTo(request, calls),
    async *stream(request) {
      const reply = replyTo(request, calls);
      for (const part of reply.content) {
        if (part.type === 'text') yield { type: 'text', text: part.text };
        if (part.type === 'tool-call') yield { type: 'tool-call', call: part };
      }
      yield { type: 'finished', reply };
    },
  };
}
