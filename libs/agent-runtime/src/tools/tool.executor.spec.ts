import { z } from 'zod';
import { expectNoOpenResources, openResources } from '#rollcall/providers/testing';
import { aCall, aRun, TestCalls } from '../testing/tool-calls.js';
import { defineTool, type Tool, type ToolContext } from './tool.js';

const never = async (): Promise<never> => await new Promise<never>(() => undefined);

function tool(execute: Tool['execute'], more: Partial<Tool> = {}): Tool {
  return { ...defineTool({ name: 'work', description: 'Works.', execute: () => undefined }), ...more, execute };
}

const echo = defineTool({
  name: 'echo',
  description: 'Returns its input.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
});

let before: Map<string, number>;
beforeEach(() => void (before = openResources()));
afterEach(async () => await expectNoOpenResources(before));

describe('a tool call', () => {
  it('S2.2 passes the validated input to the tool and returns its text', async () => {
    expect(await new TestCalls([echo]).call('echo', { text: 'hello' })).toEqual({ output: 'hello', failed: false });
  });

  it.each([
    ['an object', { a: 1 }, '{"a":1}'],
    ['a number', 5, '5'],
    ['null', null, 'null'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['undefined', undefined, 'The tool returned no value.'],
  ])('S2.2 returns %s as text', async (_name, value, output) => {
    expect(await new TestCalls([tool(() => value)]).call('work')).toEqual({ output, failed: false });
    expect(await new TestCalls([tool(async () => value)]).call('work')).toEqual({ output, failed: false });
  });

  it('S2.2 S2.9 gives the tool the run with the name of the agent, the id of the call and the memory of the run', async () => {
    const seen: ToolContext[] = [];
    const calls = new TestCalls([tool((_input, context) => void seen.push(context))], {}, aRun({ agentName: 'grace' }));
    await calls.execute(aCall('work', {}, { id: 'call-7' }));
    expect(seen[0]?.run.agentName).toBe('grace');
    expect(seen[0]?.callId).toBe('call-7');
    expect(seen[0]?.memory).toBe(calls.memory);
    expect(seen[0]?.signal.aborted).toBe(false);
  });

  it('S2.2 removes secrets from the text of an error, even if the text is long', async () => {
    const redact = (text: string): string => text.replaceAll('sk-123456', '[secret]');
    const error = new Error(`401 for sk-123456${' '.repeat(20_000_000)}`);
    const { output, failed } = await new TestCalls([tool(() => Promise.reject(error))], { redact }).call('work');
    expect([failed, output.slice(0, 40)]).toEqual([true, 'The tool work failed: 401 for [secret]  ']);
    const thrown = tool(async () => await Promise.reject(new Error('sk-123456')));
    expect((await new TestCalls([thrown], { redact }).call('work')).output).toBe('The tool work failed: [secret]');
  });

  it('S2.2 reports progress only while the call runs', async () => {
    const contexts: ToolContext[] = [];
    const calls = new TestCalls([
      tool((_input, context) => {
        contexts.push(context);
        context.progress('half');
      }),
    ]);
    await calls.call('work');
    contexts[0]?.progress('late');
    expect(calls.reported).toEqual(['half']);
  });

  it('S2.2 returns a text for the model if the tool is unknown, and suggests a similar name', async () => {
    const { output, failed } = await new TestCalls([echo]).call('ecko', {});
    expect(failed).toBe(true);
    expect(output).toBe('There is no tool named ecko (did you mean echo?). Available: echo.');
  });

  it('S2.2 returns the problems of an invalid input to the model', async () => {
    const { output, failed } = await new TestCalls([echo]).call('echo', { text: 5 });
    expect(failed).toBe(true);
    expect(output).toMatch(/^The tool echo failed: The input is invalid: text: .*string/);
  });

  it('S2.2 checks a call without executing it', async () => {
    let executed = 0;
    const calls = new TestCalls([echo, tool(() => (executed += 1))]);
    expect(await calls.executor.check(aCall('work'), calls.tools)).toBeUndefined();
    expect(await calls.executor.check(aCall('echo', { text: 5 }), calls.tools)).toMatchObject({ failed: true });
    expect(await calls.executor.check(aCall('nothing'), calls.tools)).toMatchObject({ failed: true });
    expect(executed).toBe(0);
  });

  it('S2.2 lets sibling calls continue when one fails', async () => {
    const calls = new TestCalls([echo, tool(async () => await Promise.reject(new Error('broken')))]);
    const outputs = await Promise.all([calls.call('work'), calls.call('echo', { text: 'fine' }), calls.call('none')]);
    expect(outputs.map(({ failed }) => failed)).toEqual([true, false, true]);
  });
});

function throwing(value: unknown): () => never {
  return () => {
    throw value as Error;
  };
}

describe('a faulty tool', () => {
  it.each([
    ['throws', throwing(new Error('out of paper')), 'out of paper'],
    ['rejects', async () => await Promise.reject(new Error('out of ink')), 'out of ink'],
    ['throws a text', throwing('no paper'), 'no paper'],
    ['throws an object without a prototype', throwing(Object.create(null)), 'not an error'],
  ])('S2.2 fails its call, but not the run, when it %s', async (_name, execute, reason) => {
    const { output, failed } = await new TestCalls([tool(execute)]).call('work');
    expect(failed).toBe(true);
    expect(output).toContain(reason);
  });

  it('S2.2 ends at its own time limit if it never returns, and its signal is aborted', async () => {
    const contexts: ToolContext[] = [];
    const hangs = tool(
      async (_input, context) => {
        contexts.push(context);
        void context.signal;
        await never();
      },
      { timeoutMs: 20 },
    );
    const { output, failed } = await new TestCalls([hangs]).call('work');
    expect({ output, failed }).toEqual({
      output: 'The tool work failed: It did not finish within 20 ms.',
      failed: true,
    });
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  it('S2.2 ends at the default time limit if it never returns and has no limit of its own, and a signal read later is aborted', async () => {
    const contexts: ToolContext[] = [];
    const hangs = tool(async (_input, context) => {
      contexts.push(context);
      await never();
    });
    expect(await new TestCalls([hangs], { defaultTimeoutMs: 20 }).call('work')).toMatchObject({ failed: true });
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  it('S2.2 ends at the time limit if the validation of its input never finishes', async () => {
    const hangs = tool(() => 'never', { parse: never });
    expect(await new TestCalls([hangs], { defaultTimeoutMs: 20 }).call('work')).toMatchObject({ failed: true });
  });

  it('S2.2 is abandoned if it ignores the cancellation of the run, and its late result and progress are dropped', async () => {
    const late = Promise.withResolvers<string>();
    const contexts: ToolContext[] = [];
    const calls = new TestCalls([
      tool(async (_input, context) => {
        contexts.push(context);
        return await late.promise;
      }),
    ]);
    const call = calls.call('work');
    await new Promise(setImmediate);
    calls.abort.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    contexts[0]?.progress('late');
    late.reject(new Error('late failure')); // an unhandled rejection would fail this test
    await new Promise(setImmediate);
    expect(calls.reported).toEqual([]);
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  it('S2.2 is not called if the run was cancelled before the call', async () => {
    let executed = 0;
    const calls = new TestCalls([tool(() => (executed += 1))]);
    calls.abort.abort();
    await expect(calls.call('work')).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    expect(executed).toBe(0);
  });

  it('S2.2 ends with CALL_ABORTED if it fails because the run was cancelled', async () => {
    const stops = async (_input: unknown, { signal }: ToolContext): Promise<void> =>
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
      );
    const calls = new TestCalls([tool(stops)]);
    const call = calls.call('work');
    await new Promise(setImmediate);
    calls.abort.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
  });
});

describe('the output of a tool', () => {
  it('S2.2 is cut with a notice if it is 100 MB of text', async () => {
    const calls = new TestCalls([tool(() => 'x'.repeat(100_000_000))]);
    const { output, failed } = await calls.call('work');
    expect(failed).toBe(false);
    expect(output.length).toBeLessThan(10_200);
    expect(output).toContain('[Cut: these are the first 10000 of 100000000 characters.');
  });

  it('S2.2 is not converted if it is 100 MB of JSON, and the call fails', async () => {
    const large = Array.from({ length: 100 }, () => 'x'.repeat(1_000_000));
    const { output, failed } = await new TestCalls([tool(() => large)]).call('work');
    expect(failed).toBe(true);
    expect(output).toContain('is larger than the limit');
  });

  it('S2.2 is cut if it is JSON a little above the limit', async () => {
    const { output, failed } = await new TestCalls([tool(() => ({ text: 'x'.repeat(20_000) }))]).call('work');
    expect(failed).toBe(false);
    expect(output).toMatch(/^\{"text":"x+\n\[Cut/);
  });

  it.each([
    ['cyclic', cyclic(), 'is cyclic'],
    ['a BigInt', { count: 5n }, 'contains a BigInt'],
    ['a function', { run: () => 1 }, 'contains a function'],
    ['binary data', { file: Buffer.alloc(10) }, 'contains binary data'],
  ])('S2.2 fails the call and reports the reason if it is %s', async (_name, value, reason) => {
    const { output, failed } = await new TestCalls([tool(() => value)]).call('work');
    expect(failed).toBe(true);
    expect(output).toContain(reason);
  });

  it('S2.2 fails the call if its conversion throws', async () => {
    const value = {
      toJSON: () => {
        throw new Error('no JSON');
      },
    };
    expect(await new TestCalls([tool(() => value)]).call('work')).toMatchObject({ failed: true });
  });

  it('S2.2 contains only characters that can be stored', async () => {
    expect((await new TestCalls([tool(() => 'a\0b\ud800c')]).call('work')).output).toBe('a\uFFFDb\uFFFDc');
    const cut = new TestCalls([tool(() => '😀'.repeat(10_000))], { maxOutputChars: 101 });
    expect((await cut.call('work')).output.isWellFormed()).toBe(true);
  });
});

describe('the input of a tool', () => {
  it.each([
    ['has 10 MB', { text: 'x'.repeat(10_000_000) }, 'is larger than the limit of 1000000 bytes'],
    ['has very many members', { text: Array.from({ length: 1_000_000 }, () => 1) }, 'is larger than the limit'],
    ['is nested too deeply', deep(100_000), 'nested deeper than 64 levels'],
    ['contains __proto__', JSON.parse('{"text":"x","__proto__":{"isAdmin":true}}'), 'the reserved name __proto__'],
    [
      'contains a nested __proto__',
      JSON.parse('{"text":[{"__proto__":{"isAdmin":true}}]}'),
      'the reserved name __proto__',
    ],
    [
      'contains constructor.prototype',
      JSON.parse('{"constructor":{"prototype":{"isAdmin":true}}}'),
      'the reserved name constructor',
    ],
  ])('S2.2 is rejected without executing the tool if it %s', async (_name, input, reason) => {
    let executed = 0;
    const accepts = tool(() => (executed += 1), { parse: (value) => ({ ok: true, value }) });
    const { output, failed } = await new TestCalls([accepts]).call('work', input);
    expect(failed).toBe(true);
    expect(output).toContain(reason);
    expect(executed).toBe(0);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  it('S2.2 is reported to the model if it is not JSON, and the tool is not executed', async () => {
    let executed = 0;
    const calls = new TestCalls([tool(() => (executed += 1))]);
    const { output, failed } = await calls.execute(aCall('work', {}, { malformed: '{"a":' }));
    expect(failed).toBe(true);
    expect(output).toContain('not valid JSON');
    expect(executed).toBe(0);
  });

  it('S2.2 fails the call if its validation throws', async () => {
    const broken = tool(() => 'never', {
      parse: () => {
        throw new Error('bad schema');
      },
    });
    expect(await new TestCalls([broken]).call('work')).toMatchObject({ failed: true });
  });
});

describe('two calls with the same id', () => {
  it('S2.2 are not executed at the same time', async () => {
    const gate = Promise.withResolvers<string>();
    let executed = 0;
    const calls = new TestCalls([
      tool(async () => {
        executed += 1;
        return await gate.promise;
      }),
    ]);
    const both = [calls.call('work'), calls.call('work')];
    gate.resolve('done');
    const [first, second] = await Promise.all(both);
    expect(first).toEqual({ output: 'done', failed: false });
    expect(second).toMatchObject({ failed: true, output: expect.stringContaining('Use a different id') as string });
    expect(executed).toBe(1);
  });

  it('S2.2 can be executed one after the other, because a call is repeated after a crash', async () => {
    const calls = new TestCalls([echo]);
    await calls.call('echo', { text: '1' });
    expect(await calls.call('echo', { text: '2' })).toEqual({ output: '2', failed: false });
  });
});

function cyclic(): object {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return { text: value };
}
