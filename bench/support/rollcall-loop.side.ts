import { z } from 'zod';
import { defaultMiddleware, defineTool, ModelCircuit, ReactAgent, toolBox } from '#rollcall/agent-runtime';
import { InMemorySpending } from '#rollcall/agent-runtime/testing';
import { message, type ModelProvider, type ModelReply, type ModelRequest, textOfParts } from '#rollcall/providers';
import { ANSWER, CALLS, type Forecast, inputOf, INSTRUCTIONS, QUESTION, serveSide, TOOL } from './loop.side.js';

/** A `ReactAgent` with the default middleware, validated input and a budget in memory. */
const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };
const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

function replyTo({ messages }: ModelRequest): ModelReply {
  const call = (messages.length - 2) / 2;
  const usage = { inputTokens: 100 + call * 20, outputTokens: 10 };
  if (call === CALLS) return { content: [{ type: 'text', text: ANSWER }], finish: 'stop', usage };
  const part = { type: 'tool-call' as const, id: `call-${call}`, name: TOOL.name, input: inputOf(call) };
  return { content: [part], finish: 'tool-calls', usage };
}

const model: ModelProvider = {
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

function createAgent(forecast: Forecast): ReactAgent {
  const { run, model: modelMiddleware } = defaultMiddleware({
    log: SILENT,
    circuit: new ModelCircuit(),
    budget: { spending: new InMemorySpending(), model, limit: { tokens: 1_000_000, microUsd: null } },
  });
  const agent = new ReactAgent({
    name: 'weather',
    description: 'Knows the weather.',
    instructions: INSTRUCTIONS,
    model,
    runMiddleware: run,
    modelMiddleware,
  });
  agent.addToolBoxes(toolBox('weather', [defineTool({ ...TOOL, input: Input, execute: (input) => forecast(input) })]));
  return agent;
}

await serveSide((forecast) => {
  const agent = createAgent(forecast);
  return async () => {
    for await (const event of agent.handle(message(QUESTION)))
      if (event.type === 'finished') return textOfParts(event.result.parts);
    return '';
  };
});
