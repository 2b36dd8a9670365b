import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type AgentResult, message, type ModelProvider, textPart, userMessage } from '#rollcall/providers';
import { callTool, say, scripted } from '#rollcall/providers/testing';
import type { LoopStep } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { resume } from '../loop/run.state.js';
import { given } from '../testing/given.js';
import { defineTool, toolBox } from '../tools/tool.js';
import { ReactAgent } from './react.agent.js';

const PAGE = 'docs/runtime/loop.md';
const { context, signal } = given.runCall();

/** The first example of the page. */
async function answer(model: ModelProvider): Promise<AgentResult | undefined> {
  const weather = defineTool({
    name: 'weather',
    description: 'Returns the weather of a city.',
    input: z.object({ city: z.string() }),
    idempotent: true,
    execute: ({ city }) => `Sunny in ${city}`,
  });
  const agent = new ReactAgent({
    name: 'ada',
    description: 'Knows the weather.',
    instructions: 'Answer in one sentence.',
    model,
    options: { maxIterations: 10 },
  });
  agent.addToolBoxes(toolBox('weather', [weather]));
  for await (const event of agent.handle(message('How is the weather in Graz?'))) {
    if (event.type === 'finished') return event.result;
  }
}

/** The second example of the page. */
async function resumed(
  agent: ReactAgent,
  steps: LoopStep[],
  store: (step: LoopStep) => Promise<void>,
): Promise<RunOutcome> {
  const events = agent.run({ context, signal, streams: false, state: resume(steps) });
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    if (next.value.type === 'step') await store(next.value.step);
  }
}

describe('docs/runtime/loop.md', () => {
  it('S2.1 quotes the examples that this suite executes', () => {
    const indented = (code: string): string => code.trimEnd().replace(/^(?=.)/gm, '  ');
    const source = readFileSync(import.meta.filename, 'utf8');
    const examples = [...readFileSync(PAGE, 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
    expect(examples).toHaveLength(2);
    for (const code of examples) expect(source).toContain(indented(code));
  });

  it('S2.1 the agent of the first example answers with its tool', async () => {
    const model = scripted(callTool('weather', { city: 'Graz' }), say('It is sunny.'));
    expect(await answer(model)).toMatchObject({ outcome: 'completed', parts: [textPart('It is sunny.')] });
    expect(model.calls[1]?.request.messages.at(-1)).toMatchObject({ content: [{ output: 'Sunny in Graz' }] });
  });

  it('B6 the second example stores all steps and continues after each of them', async () => {
    const identity = { name: 'ada', description: '', instructions: '' };
    const start: LoopStep = { type: 'message-received', messages: [userMessage('Hello')] };
    const stored: LoopStep[] = [start];
    const store = async (step: LoopStep): Promise<void> => void (await Promise.resolve(stored.push(step)));
    await resumed(new ReactAgent({ ...identity, model: scripted(callTool('nope', {}), say('done')) }), stored, store);
    expect(stored).toHaveLength(5);
    const again = await resumed(new ReactAgent({ ...identity, model: scripted() }), stored, store);
    expect(again).toEqual({ type: 'completed', parts: [textPart('done')] });
    expect(stored).toHaveLength(5);
  });
});
