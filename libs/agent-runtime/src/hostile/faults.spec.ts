import { type AgentEvent, type AgentResult, textOfParts } from '#rollcall/providers';
import {
  breakAfter,
  callTool,
  callTools,
  expectNoOpenResources,
  hangAfter,
  openResources,
  say,
  ScriptedModel,
  type Step,
} from '#rollcall/providers/testing';
import { HostileWorld } from '../testing/hostile.world.js';

let before: Map<string, number>;
let world: HostileWorld;
beforeEach(async () => {
  before = openResources();
  world = await HostileWorld.start();
});
afterEach(async () => {
  await world.close();
  await expectNoOpenResources(before);
});

/** Runs an agent with the default middleware. The last step is repeated. */
async function run(steps: Step[], maxIterations = 4): Promise<AgentResult> {
  const model = new ScriptedModel((_request, call) => steps[Math.min(call, steps.length) - 1] ?? say('done'));
  const last = await world.call(world.agent('ada', model, { maxIterations }));
  if (last?.type !== 'finished') throw new Error('the run has no result');
  return last.result;
}

const outputs = (): Extract<AgentEvent, { type: 'tool-result' }>[] =>
  world.events.filter((event) => event.type === 'tool-result');

function malformed(text: string): Step {
  return {
    content: [{ type: 'tool-call', id: 'm', name: 'read', input: {}, malformed: text }],
    finish: 'tool-calls',
  };
}

/** Bad input and faults, tested with a whole agent. The specs of the loop and of the tools test the details. */
describe('a model', () => {
  it.each([
    ['always calls tools', callTool('read', {})],
    ['always sends malformed arguments', malformed('{')],
    ['always sends 10 MB of arguments', callTool('read', { x: 'x'.repeat(10 << 20) })],
    ['always calls unknown tools', callTool('nope', {})],
  ])('S2.1 that %s stops at the iteration limit', async (_name, step) => {
    expect(await run([step])).toMatchObject({ outcome: 'stopped', reason: 'iterations' });
  });

  it('S2.1 that returns only empty answers stops after one reminder', async () => {
    expect(await run([say('')])).toMatchObject({ outcome: 'stopped', reason: 'empty-answer' });
  });

  it('S2.1 that mixes text and calls gets its calls executed, and the run is completed', async () => {
    const { content, finish } = callTools(['read', {}], ['nope', {}]);
    const mixed: Step = { content: [{ type: 'text', text: 'First I read.' }, ...content], finish };
    const result = await run([mixed, say('done')]);
    expect([result.outcome, textOfParts(result.parts)]).toEqual(['completed', 'done']);
    const failed = outputs()
      .filter((one) => one.failed)
      .map(({ name }) => name);
    expect([world.executedTools, failed]).toEqual([['read'], ['nope']]);
  });

  it('S2.1 whose stream breaks makes the run fail with MODEL_STREAM_BROKEN, and its partial answer is not repeated', async () => {
    await expect(run([breakAfter('The ans')])).rejects.toMatchObject({ code: 'MODEL_STREAM_BROKEN' });
    const texts = world.events.flatMap((event) => (event.type === 'text' ? [event.text] : []));
    expect(texts.join('')).toBe('The ans');
    expect(world.models.map(({ calls }) => calls.length)).toEqual([1]);
  });

  it('S2.1 that hangs is aborted when the caller cancels', async () => {
    const caller = new AbortController();
    const agent = world.agent('ada', new ScriptedModel(() => hangAfter('The ans')));
    const events = agent.handle({ parts: [{ type: 'text', text: 'hi' }] }, { signal: caller.signal });
    const first = await events[Symbol.asyncIterator]().next();
    expect(first.done).toBe(false);
    const rest = (async () => {
      for await (const event of events) world.events.push(event);
    })();
    caller.abort();
    await expect(rest).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await agent.shutdown();
  });
});

describe('a tool', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
      true,
    ],
    [
      'throws something that is not an error',
      () => {
        throw Object.create(null) as Error;
      },
      true,
    ],
    ['returns 100 MB of text', () => 'x'.repeat(100 << 20), false],
    ['returns 100 MB of JSON', () => Array.from({ length: 100 }, () => 'x'.repeat(1 << 20)), true],
  ])('S2.2 that %s gives the model a short text, and the run is completed', async (_name, onRead, fails) => {
    world.onRead = onRead;
    expect(await run([callTool('read', {}), say('done')])).toMatchObject({ outcome: 'completed' });
    const [{ output, failed = false } = { output: '' }] = outputs();
    expect([failed, output.length < 51_000]).toEqual([fails, true]);
  });
});
