import { until } from '#rollcall/test-support';
import { Secret } from '../../secrets/secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { FakeProgram, isAlive } from '../../testing/fake-program.js';
import { expectNoOpenResources, openResources } from '../../testing/open-resources.js';
import type { Agent, AgentEvent } from '../agent.js';
import { message, textOfParts } from '../content.part.js';
import { type AllowedProgram, SubprocessAgentProvider } from './subprocess.agent-provider.js';

const KEY = 'program-key-0123456789';

/** Creates an agent that runs the fake program. */
async function start(program: FakeProgram, more: Partial<AllowedProgram> = {}, name = 'ada'): Promise<Agent> {
  const provider = new SubprocessAgentProvider({
    programs: { fake: { command: process.execPath, args: program.args, user: 'same', ...more } },
    secrets: (key) => (key === 'PROGRAM_KEY' ? new Secret(KEY) : undefined),
  });
  return await provider.createAgent({ name, settings: { program: 'fake' } });
}

describeAgentProviderContract('subprocess', {
  agentType: 'subprocess',
  make: async (name) => {
    const program = new FakeProgram();
    return {
      agent: await start(program, {}, name),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => program.begun,
      busyCalls: () => program.busy,
      close: async () => program.remove(),
    };
  },
});

describe('S1.10 a subprocess agent', () => {
  let program: FakeProgram;
  let agent: Agent;
  let before: Map<string, number>;
  const startAgent = async (more: Partial<AllowedProgram> = {}): Promise<void> => {
    before = openResources();
    program = new FakeProgram();
    agent = await start(program, more);
  };
  afterEach(async () => {
    await agent.shutdown();
    program.remove();
    await expectNoOpenResources(before);
  });
  const send = (does: string, signal?: AbortSignal): AsyncIterator<AgentEvent> =>
    agent.handle(message(JSON.stringify({ does })), { signal })[Symbol.asyncIterator]();

  it('ends the program and its child processes at shutdown, even if the program ignores SIGTERM', async () => {
    await startAgent({ env: { STUBBORN: 'yes', PATH: '/usr/bin:/bin' } });
    const { value } = (await send('have a child').next()) as { value: { text: string } };
    const [child, parent] = [Number(value.text), program.pids[0] ?? 0];
    expect([isAlive(child), isAlive(parent)]).toEqual([true, true]);
    await agent.shutdown();
    await until('both processes have ended', () => !isAlive(child) && !isAlive(parent));
  });

  it('ends the child processes of a program that crashes', async () => {
    await startAgent({ env: { PATH: '/usr/bin:/bin' } });
    const { value } = (await send('have a child').next()) as { value: { text: string } };
    await expect(send('crash').next()).rejects.toMatchObject({ code: 'AGENT_CRASHED' });
    await until('the child process has ended', () => !isAlive(Number(value.text)));
  });

  it('terminates a program that ignores a cancellation, and starts it again', async () => {
    await startAgent();
    const caller = new AbortController();
    const call = send('ignore cancel', caller.signal).next();
    await until('the call has started', () => program.busy === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('the program has ended', () => program.busy === 0);
    const { value } = await send('show environment').next();
    expect(value).toMatchObject({ type: 'finished' });
    expect(program.pids).toHaveLength(2);
  });

  it('yields the tool calls of a program, although the id of each event is the id of the message', async () => {
    await startAgent();
    const { value } = await send('call a tool').next();
    expect(value).toEqual({ type: 'tool-call', id: expect.any(String), name: 'search', input: { q: 'x' } });
  });

  it('terminates a program whose output is not JSON', async () => {
    await startAgent();
    await expect(send('babble').next()).rejects.toMatchObject({
      code: 'AGENT_CRASHED',
      message: expect.stringContaining('it is not JSON'),
    });
  });

  it('terminates a program that sends more than the limit while its caller does not read, and the next call succeeds', async () => {
    await startAgent();
    const flood = send('flood');
    await flood.next(); // the caller stops reading here
    await until('the program has ended', () => program.busy === 0);
    const rest = async (): Promise<void> => {
      while (!(await flood.next()).done);
    };
    await expect(rest()).rejects.toMatchObject({
      code: 'AGENT_ANSWER_UNREADABLE',
      message: expect.stringContaining('more than the'),
    });
    expect((await send('show environment').next()).value).toMatchObject({ type: 'finished' });
  });

  it('S-16 accepts any amount of standard error output, and the log contains the end of the output', async () => {
    await startAgent();
    const error = await send('flood stderr')
      .next()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'AGENT_CRASHED', logDetail: expect.stringContaining('the end') });
    expect((error as Error).message.length).toBeLessThan(1_000);
  });

  it('terminates a program that writes a line that never ends', async () => {
    await startAgent();
    await expect(send('never end a line').next()).rejects.toMatchObject({
      code: 'AGENT_CRASHED',
      message: expect.stringContaining('longer than'),
    });
  });

  it('S-16 reports the exit code of a program that crashes, and the log contains the end of its standard error', async () => {
    await startAgent();
    await expect(send('crash').next()).rejects.toMatchObject({
      message: expect.stringMatching(/ended with code 3\.$/),
      logDetail: expect.stringContaining('out of luck'),
    });
  });

  it('passes the configured environment with its keys to the program, and no other variable of Rollcall', async () => {
    await startAgent({ env: { LANG: 'C' }, secretEnv: ['PROGRAM_KEY'] });
    const { value } = (await send('show environment').next()) as { value: Extract<AgentEvent, { type: 'finished' }> };
    const seen = JSON.parse(textOfParts(value.result.parts)) as Record<string, string>;
    expect(seen).toMatchObject({ LANG: 'C', PROGRAM_KEY: '[secret]' }); // the program has the key, but its answer is redacted
    expect(Object.keys(seen)).not.toContain('TEST_POSTGRES_URL');
  });

  it('S-16 starts only programs that the operator allows and that can be started, and its errors contain no path', async () => {
    await startAgent();
    const provider = new SubprocessAgentProvider({
      programs: {
        broken: { command: '/no/such/program', user: 'same' },
        keyed: { command: 'x', secretEnv: ['NO_KEY'] },
      },
      secrets: () => undefined,
    });
    const create = async (settings: unknown): Promise<unknown> =>
      await provider.createAgent({ name: 'a', settings }).catch((error: unknown) => error);
    expect(await create({ program: 'sh' })).toMatchObject({
      code: 'AGENT_SETTINGS_INVALID',
      message: expect.stringContaining('allows: broken, keyed'),
    });
    expect(await create({ program: 'broken', args: ['-c'] })).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
    expect(await create({ program: 'broken' })).toMatchObject({
      code: 'AGENT_CRASHED',
      message: expect.stringMatching(/^The program of .{1,40} cannot be started\.$/) as string,
      logDetail: expect.stringContaining('/no/such/program'),
    });
    expect(await create({ program: 'keyed' })).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
  });
});
