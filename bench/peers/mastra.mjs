import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { ANSWER, CALLS, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from '../../dist/bench/support/loop.side.js';

const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

function reply({ prompt }) {
  const call = (prompt.length - 2) / 2;
  if (call === CALLS)
    return { content: [{ type: 'text', text: ANSWER }], finishReason: { unified: 'stop' }, usage, warnings: [] };
  const part = {
    type: 'tool-call',
    toolCallId: `call-${call}`,
    toolName: TOOL.name,
    input: JSON.stringify(inputOf(call)),
  };
  return { content: [part], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
}

const model = new MockLanguageModelV4({
  doGenerate: async (options) => {
    model.doGenerateCalls.length = 0; // the mock would keep all requests
    return reply(options);
  },
});

await serveSide((forecast) => {
  const agent = new Agent({
    id: 'weather',
    name: 'weather',
    instructions: INSTRUCTIONS,
    model,
    tools: {
      [TOOL.name]: createTool({
        id: TOOL.name,
        description: TOOL.description,
        inputSchema: Input,
        execute: async (input) => await forecast(input),
      }),
    },
  });
  return async () => (await agent.generate(QUESTION, { maxSteps: 20 })).text;
});
