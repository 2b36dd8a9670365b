import { z } from 'zod';
import { defaultMiddleware, defineTool, ModelCircuit, ReactAgent, toolBox } from '#rollcall/agent-runtime';
import { InMemorySpending } from '#rollcall/agent-runtime/testing';
import { message, textOfParts } from '#rollcall/providers';
import { instantModel } from './instant.model.js';
import { CALLS, type Forecast, INSTRUCTIONS, QUESTION, serveSide, TOOL } from './loop.side.js';

/** A `ReactAgent` with the default middleware, validated input and a budget in memory. */
const model = instantModel();
const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };
const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

function createAgent(forecast: Forecast): ReactAgent {
  const { run, model: modelMiddleware } = defaultMiddleware({
    log: SILENT,
    circuit: new ModelCircuit(),
    budget: { spending: new InMemorySpending(), limit: { tokens: 1_000_000, microUsd: null } },
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
