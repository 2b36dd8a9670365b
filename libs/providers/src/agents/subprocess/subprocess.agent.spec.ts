import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { expectNoOpenResources, openResources } from '../../testing/open-resources.js';
import { isAlive, FakeProgram } from '../../testing/fake-program.js';
import { until } from '#rollcall/test-support';
import type { Agent, AgentEvent } from '../agent.js';
import { SubprocessAgentProvider, type AllowedProgram } from './subprocess.agent-provider.js';

const KEY = 'program-key-0123456789';

/** An agent of the fake program. */
async function start(program: FakeProgram, more: Partial<AllowedProgram> = {}, name = 'ada'): Promise<Agent> {
  const provider = new SubprocessAgentProvider({
    programs: { fake: { command: process.execPath, args: program.args, ...more } },
    secrets: (wanted) => (wanted === 'PROGRAM_KEY' ? new Secret(KEY) : undefined),
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
  const begin = async (more: Partial<AllowedProgram> = {}): Promise<void> => {
    before = openResources();
    program = new FakeProgram();
    agent = await start(program, more);
  };
  afterEach(async () => {
    await agent.shutdown();
    program.remove();
    await expectNoOpenResources(before);
  });
  const tell = (does: string, signal?: AbortSignal): AsyncIterator<AgentEvent> =>
    agent.handle({ text: JSON.stringify({ does }) }, { signal })[Symbol.asyncIterator]();

  it('takes its children with it, also when it will not go itself', async () => {
    await begin({ env: { STUBBORN: 'yes', PATH: '/usr/bin:/bin' } });
    const { value } = (await tell('have a child').next()) as { value: { text: string } };
    const [child, parent] = [Number(value.text), program.pids[0] ?? 0];
    expect([isAlive(child), isAlive(parent)]).toEqual([true, true]);
    await agent.shutdown();
    await until('both are gone', () => !isAlive(child) && !isAlive(parent));
  });

  it('takes its children with it when it crashes', async () => {
    await begin({ env: { PATH: '/usr/bin:/bin' } });
    const { value } = (await tell('have a child').next()) as { value: { text: string } };
    await expect(tell('crash').next()).rejects.toMatchObject({ code: 'AGENT_CRASHED' });
    await until('the child is gone', () => !isAlive(Number(value.text)));
  });

  it('is ended and started again when it ignores a cancel', async () => {
    await begin();
    const caller = new AbortController();
    const call = tell('ignore cancel', caller.signal).next();
    await until('it has begun', () => program.busy === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('it was ended', () => program.busy === 0);
    const { value } = await tell('show environment').next();
    expect(value).toMatchObject({ type: 'finished' });
    expect(program.pids).toHaveLength(2);
  });

  it('is ended when it does not speak the wire', async () => {
    await begin();
    await expect(tell('babble').next()).rejects.toMatchObject({ code: 'AGENT_CRASHED', message: /not JSON: Hello/ });
  });

  it('is cut off when it floods its caller, and the next call is answered', async () => {
    await begin();
    const flood = tell('flood');
    await flood.next(); // and then nobody reads on
    await until('it was ended', () => program.busy === 0);
    const rest = async (): Promise<void> => {
      while (!(await flood.next()).done);
    };
    await expect(rest()).rejects.toMatchObject({ code: 'AGENT_ANSWER_UNREADABLE', message: /more than the/ });
    expect((await tell('show environment').next()).value).toMatchObject({ type: 'finished' });
  });

  it('may write as much as it likes to its standard error, of which the last words are kept', async () => {
    await begin();
    const error = await tell('flood stderr')
      .next()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'AGENT_CRASHED', message: expect.stringContaining('the end') });
    expect((error as Error).message.length).toBeLessThan(1_000);
  });

  it('is ended when it writes a line without an end', async () => {
    await begin();
    await expect(tell('never end a line').next()).rejects.toMatchObject({
      code: 'AGENT_CRASHED',
      message: expect.stringContaining('longer than'),
    });
  });

  it('says with its last words why it crashed', async () => {
    await begin();
    await expect(tell('crash').next()).rejects.toMatchObject({
      message: expect.stringContaining('ended with code 3: out of luck'),
    });
  });

  it('sees the environment it was given, keys included, and nothing of ours', async () => {
    await begin({ env: { LANG: 'C' }, secretEnv: ['PROGRAM_KEY'] });
    const { value } = (await tell('show environment').next()) as { value: Extract<AgentEvent, { type: 'finished' }> };
    const seen = JSON.parse(value.result.text) as Record<string, string>;
    expect(seen).toMatchObject({ LANG: 'C', PROGRAM_KEY: '[secret]' }); // it has the key, but cannot tell it;
    expect(Object.keys(seen)).not.toContain('TEST_POSTGRES_URL');
  });

  it('is made only of programs the operator allows, and only if they start', async () => {
    await begin();
    const provider = new SubprocessAgentProvider({
      programs: { broken: { command: '/no/such/program' }, keyed: { command: 'x', secretEnv: ['NO_KEY'] } },
      secrets: () => undefined,
    });
    const make = async (settings: unknown): Promise<unknown> =>
      await provider.createAgent({ name: 'a', settings }).catch((error: unknown) => error);
    expect(await make({ program: 'sh' })).toMatchObject({
      code: 'AGENT_SETTINGS_INVALID',
      message: expect.stringContaining('allows: broken, keyed'),
    });
    expect(await make({ program: 'broken', args: ['-c'] })).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
    expect(await make({ program: 'broken' })).toMatchObject({
      code: 'AGENT_CRASHED',
      message: expect.stringContaining('cannot be started'),
    });
    expect(await make({ program: 'keyed' })).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
  });
});
