import { Agent, Runner, setTracingDisabled, tool, Usage } from '@openai/agents';
import { assistantMessage, functionCall } from '@openai/agents/testing';
import { z } from 'zod';
import { ANSWER, CALLS, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from '../../dist/bench/support/loop.side.js';

setTracingDisabled(true);

const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

/** Not `ScriptedModel` of the testing kit: it copies and keeps all requests. */
const model = {
  async getResponse({ input }) {
    const call = Math.floor(input.length / 2);
    const usage = new Usage({ requests: 1, inputTokens: 100, outputTokens: 10, totalTokens: 110 });
    if (call === CALLS) return { output: [assistantMessage(ANSWER)], usage };
    return { output: [functionCall(TOOL.name, inputOf(call), { callId: `call-${call}` })], usage };
  },
  getStreamedResponse() {
    throw new Error('not used');
  },
};

await serveSide((forecast) => {
  const agent = new Agent({
    name: 'weather',
    instructions: INSTRUCTIONS,
    model,
    tools: [tool({ ...TOOL, parameters: Input, execute: (input) => forecast(input) })],
  });
  const runner = new Runner({ tracingDisabled: true });
  return async () => (await runner.run(agent, QUESTION, { maxTurns: 20 })).finalOutput;
});
