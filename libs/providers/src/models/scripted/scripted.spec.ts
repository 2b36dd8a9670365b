import { expectNoOpenResources, openResources } from '../../testing/open-resources.js';
import { describeModelProviderContract } from '../../testing/model-provider.contract.js';
import type { Scenario } from '../../testing/wires/scenario.js';
import { type AssistantPart, textOf, toolCallsOf, userMessage } from '../message.js';
import type { ModelRequest } from '../model.provider.js';
import {
  after,
  breakAfter,
  callTool,
  callTools,
  expecting,
  failWith,
  hangAfter,
  refuse,
  runOutOfTokens,
  say,
  think,
  using,
  type Step,
} from './script.js';
import { scripted, ScriptedModel } from './scripted.model.js';
import { ScriptedVendor } from './scripted.vendor.js';

describeModelProviderContract('scripted', async () => {
  const provider = scripted();
  return {
    provider,
    play: (scenario) => provider.add(stepFor(scenario)),
    calls: () => provider.calls.length,
    busyConnections: () => provider.inFlight,
    close: async () => provider.assertAllStepsUsed(),
  };
});

const HELLO: ModelRequest = { messages: [userMessage('hello')] };

describe('S1.10 a scripted model', () => {
  it('plays its steps in order and records a copy of each request', async () => {
    const model = scripted(callTool('search', { q: 'x' }), say('done'));
    const request = structuredClone(HELLO);
    expect(toolCallsOf((await model.complete(request)).content)).toMatchObject([{ name: 'search', input: { q: 'x' } }]);
    request.messages.push(userMessage('more'));
    expect(textOf((await model.complete(request)).content)).toBe('done');
    expect(model.calls.map((call) => call.request.messages.length)).toEqual([1, 2]);
    expect(() => model.assertAllStepsUsed()).not.toThrow();
  });

  it('rejects a call for which the script has no step', async () => {
    const model = scripted(say('once'));
    await model.complete(HELLO);
    await expect(model.complete(HELLO)).rejects.toThrow(/no step for call 2.*hello/);
  });

  it('reports the steps that were not used', () => {
    const model = scripted(callTools(['search', {}], ['read', {}]), say('done'), failWith(529));
    expect(() => model.assertAllStepsUsed()).toThrow(/3 steps.*call search and call read, say "done", fail with 529/);
  });

  it('rejects a call that does not meet the expectation of its step', async () => {
    const model = scripted(expecting(({ tools }) => expect(tools).toHaveLength(1), say('ok')));
    await expect(model.complete(HELLO)).rejects.toThrow(/toHaveLength/);
  });

  it('reports an estimated usage, or exactly the usage of the step', async () => {
    const model = scripted(say('hi'), using({ inputTokens: 9_999 }, say('hi')), using({}, say('hi')));
    const usages = [await model.complete(HELLO), await model.complete(HELLO), await model.complete(HELLO)];
    expect(usages[0]?.usage.inputTokens).toBeGreaterThan(0);
    expect(usages.slice(1).map((reply) => reply.usage)).toEqual([{ inputTokens: 9_999 }, {}]);
  });

  it('ends its delay when the call is aborted', async () => {
    const before = openResources();
    const model = scripted(after(60_000, say('late')));
    const caller = new AbortController();
    const call = model.complete(HELLO, { signal: caller.signal });
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await expectNoOpenResources(before);
  });

  it('streams word by word, and reasoning first', async () => {
    const seen: string[] = [];
    for await (const event of scripted(think('hm', say('one two'))).stream(HELLO))
      seen.push(event.type === 'text' || event.type === 'reasoning' ? `${event.type} ${event.text}` : event.type);
    expect(seen).toEqual(['reasoning hm', 'text one ', 'text two', 'finished']);
  });

  it('a function can compute the answers of a scripted model', async () => {
    const model = new ScriptedModel((_request, number) => say(`answer ${number}`));
    await model.complete(HELLO);
    expect(textOf((await model.complete(HELLO)).content)).toBe('answer 2');
  });

  it('the vendor of scripted models needs no key and has an echo model for demos', async () => {
    const vendor = new ScriptedVendor({ mine: () => scripted(say('mine')) });
    expect(textOf((await vendor.open({ model: 'echo' }).complete(HELLO)).content)).toBe('You said: hello');
    expect(textOf((await vendor.open({ model: 'mine' }).complete(HELLO)).content)).toBe('mine');
    expect(() => vendor.open({ model: 'other' })).toThrow(/Known scripts: demo, echo, mine/);
  });

  it('the demo model reads the clock, asks another agent, and repeats any other message', async () => {
    const demo = new ScriptedVendor().open({ model: 'demo' });
    const replyTo = async (...messages: ModelRequest['messages']): Promise<AssistantPart[]> =>
      (await demo.complete({ messages })).content;
    const calls = async (...messages: ModelRequest['messages']): Promise<unknown> =>
      toolCallsOf(await replyTo(...messages)).map(({ name, input }) => [name, input]);
    const output = '<agent_output agent="clerk" outcome="completed">\nDone.\n</agent_output>';
    const answered = (content: AssistantPart[]): ModelRequest['messages'] => [
      { role: 'assistant', content },
      {
        role: 'tool',
        content: toolCallsOf(content).map(({ id, name }) => ({ type: 'tool-result', id, name, output })),
      },
    ];
    const clock = userMessage('Read the clock 1 time.');
    const clockTwice = userMessage('Read the clock 2 times.');
    const ask = userMessage('Ask clerk: Work.');
    expect(textOf(await replyTo(userMessage('hello')))).toBe('You said: hello');
    expect(await calls(clock)).toEqual([['clock', {}]]);
    const once = [clock, ...answered(await replyTo(clock))];
    expect(textOf(await replyTo(...once))).toBe('I have read the clock 1 time.');
    const twice = [clockTwice, ...answered(await replyTo(clockTwice)), ...answered(await replyTo(clockTwice))];
    expect(textOf(await replyTo(...twice))).toBe('I have read the clock 2 times.');
    expect(await calls(ask)).toEqual([['delegate_to_agent', { agent: 'clerk', task: 'Work.' }]]);
    expect(textOf(await replyTo(ask, ...answered(await replyTo(ask))))).toBe('clerk answered: Done.');
  });
});

function stepFor(scenario: Scenario): Step {
  switch (scenario.does) {
    case 'say':
      return using(scenario.usage, say(scenario.pieces.join('')));
    case 'refuse':
      return using(scenario.usage, refuse(scenario.pieces.join('')));
    case 'run out of tokens':
      return using(scenario.usage, runOutOfTokens(scenario.pieces.join('')));
    case 'call':
      return using(
        scenario.usage,
        callTools(...scenario.calls.map(({ id, name, input }): [string, unknown, string] => [name, input, id])),
      );
    case 'fail':
      return failWith(scenario.status, { retryAfterMs: Number(scenario.headers?.['retry-after']) * 1_000 });
    case 'drop':
    case 'stop short':
      return breakAfter(scenario.pieces.join(''));
    case 'hang':
      return hangAfter(scenario.pieces.join(''));
  }
}
