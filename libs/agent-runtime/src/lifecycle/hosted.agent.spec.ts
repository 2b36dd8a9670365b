import { until } from '#rollcall/test-support';
import { FakeAgent } from '../testing/fake.agent.js';
import { type Blueprint, HostedAgent, type HostedAgentOptions } from './hosted.agent.js';
import type { ShutdownDetail } from './shutdown/shutdown.report.js';

let built: FakeAgent[];
let retired: ShutdownDetail[];
let blueprint: Blueprint;
beforeEach(() => {
  [built, retired] = [[], []];
  blueprint = { content: { description: '', instructions: '', provider: 'native' }, revision: 1 };
});

function hosted(options: Partial<HostedAgentOptions> = {}): HostedAgent {
  return new HostedAgent({
    blueprint: async () => await Promise.resolve(blueprint),
    build: async () => await Promise.resolve(newAgent()),
    drainMs: 60_000,
    closeMs: 1_000,
    onRetired: (detail) => retired.push(detail),
    ...options,
  });
}

function newAgent(): FakeAgent {
  const agent = new FakeAgent('ada');
  built.push(agent);
  return agent;
}

function limitedTo(maxConcurrency: number, whenBusy?: 'queue' | 'reject'): void {
  blueprint.content = { ...blueprint.content, maxConcurrency, whenBusy };
}

const isPending = async (work: Promise<unknown>): Promise<boolean> =>
  await Promise.race([work.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))]);

describe('first use', () => {
  it('S0.3 100 concurrent first uses build one agent, and later uses get the same one', async () => {
    const agent = hosted();
    const uses = await Promise.all(Array.from({ length: 100 }, async () => await agent.use()));
    expect(built).toHaveLength(1);
    expect(new Set([...uses, await agent.use()].map((use) => use.agent))).toEqual(new Set(built));
  });

  it('S0.4 all callers that wait for a construction get its error if it fails, and the next call tries again', async () => {
    const error = new Error('the provider failed');
    let attempts = 0;
    const build = async (): Promise<FakeAgent> => {
      attempts += 1;
      return await (attempts === 1 ? Promise.reject(error) : Promise.resolve(newAgent()));
    };
    const agent = hosted({ build });
    const failed = await Promise.allSettled([agent.use(), agent.use(), agent.use()]);
    expect(failed.map((one) => one.status === 'rejected' && one.reason)).toEqual([error, error, error]);
    expect(attempts).toBe(1);
    expect((await agent.use()).agent).toBe(built[0]);
  });
});

describe('a new revision', () => {
  it('S0.2 the call in progress finishes on the old revision, the next call uses the new one, and the old agent is closed', async () => {
    const agent = hosted();
    const old = await agent.use();
    blueprint = { ...blueprint, revision: 2 };
    agent.renew();
    const next = await agent.use();
    expect([old.revision, next.revision]).toEqual([1, 2]);
    expect(built.map(({ state }) => state)).toEqual(['idle', 'idle']);
    expect(old.signal.aborted).toBe(false);
    old.release();
    await until('the old agent is closed', () => retired.length === 1);
    expect(built.map(({ state }) => state)).toEqual(['closed', 'idle']);
    expect(retired).toMatchObject([{ phase: 'stop', forced: false, error: null }]);
  });

  it('S0.2 a caller that waits for the construction of the old revision gets the new one, and the old agent is closed', async () => {
    const slow = Promise.withResolvers<FakeAgent>();
    const builds = [async () => await slow.promise, async () => await Promise.resolve(newAgent())];
    const agent = hosted({ build: async () => await builds.shift()!() });
    const waiting = agent.use();
    await until('the construction has started', () => builds.length === 1);
    blueprint = { ...blueprint, revision: 2 };
    agent.renew();
    slow.resolve(newAgent());
    expect(await waiting).toMatchObject({ revision: 2 });
    await until('the agent is closed', () => built.some(({ isShutDown }) => isShutDown));
    expect(built[1]?.isShutDown).toBe(false);
  });

  it('S0.2 a call that waits for a slot of the old revision continues with the new one', async () => {
    limitedTo(1);
    const agent = hosted();
    await agent.use();
    const waiting = agent.use();
    expect(await isPending(waiting)).toBe(true);
    blueprint = { ...blueprint, revision: 2 };
    agent.renew();
    expect(await waiting).toMatchObject({ revision: 2 });
  });

  it('keeps an agent that is not older than the announced revision', async () => {
    const agent = hosted();
    const { agent: first } = await agent.use();
    agent.renew((revision) => revision < 1);
    expect((await agent.use()).agent).toBe(first);
    agent.renew((revision) => revision < 2);
    expect((await agent.use()).agent).not.toBe(first);
  });
});

describe('maxConcurrency', () => {
  it('a call beyond the limit waits until another call has ended', async () => {
    limitedTo(2);
    const agent = hosted();
    const first = await agent.use();
    await agent.use();
    const third = agent.use();
    expect(await isPending(third)).toBe(true);
    first.release();
    first.release();
    await third;
    expect(agent.inFlight).toBe(2);
  });

  it('a call beyond the limit is rejected with AGENT_BUSY if whenBusy is reject', async () => {
    limitedTo(1, 'reject');
    const agent = hosted();
    const { release } = await agent.use();
    await expect(agent.use()).rejects.toMatchObject({ code: 'AGENT_BUSY' });
    release();
    await agent.use();
  });
});

describe('close', () => {
  it('aborts the calls in progress and reports the phase that it reached', async () => {
    const agent = hosted();
    const { signal, release } = await agent.use();
    signal.addEventListener('abort', release);
    expect(agent.state).toBe('busy');
    expect(await agent.close(1_000)).toMatchObject({ phase: 'drain', forced: false, error: null });
    expect(signal.reason).toMatchObject({ code: 'AGENT_CLOSED' });
    expect(agent.state).toBe('closed');
    await expect(agent.use()).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
  });

  it('abandons an agent whose call does not end before the deadline', async () => {
    const agent = hosted();
    await agent.use();
    expect(await agent.close(10)).toMatchObject({ phase: 'kill', forced: true });
    expect(built[0]?.isShutDown).toBe(true);
  });

  it('S1.5 reports the error of an agent that fails to close', async () => {
    const agent = hosted();
    await agent.use();
    const error = new Error('no');
    built[0].shutdown = async () => await Promise.reject(error);
    agent.renew();
    await agent.use();
    built[1].shutdown = async () => await Promise.reject(error);
    (await agent.use()).release();
    expect(await agent.close(10)).toMatchObject({ phase: 'kill' });
    const idle = hosted({ build: async () => await Promise.resolve(built[1]) });
    (await idle.use()).release();
    expect(await idle.close(1_000)).toMatchObject({ phase: 'abort', forced: false, error });
  });

  it('S1.6 an agent under construction at the deadline is closed as soon as it is built', async () => {
    const slow = Promise.withResolvers<FakeAgent>();
    const agent = hosted({ build: async () => await slow.promise });
    const waiting = agent.use();
    const closing = agent.close(10);
    expect(await closing).toMatchObject({ phase: 'kill', forced: true });
    slow.resolve(newAgent());
    await expect(waiting).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
    await until('the agent is closed', () => built.some(({ isShutDown }) => isShutDown));
  });
});
