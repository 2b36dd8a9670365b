import { say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { answers, FakeAgent, hangs } from '../testing/fake.agent.js';
import { budgetOf, ended, keyOf, RunsWorld, stepsOf, TOKENS, USED } from '../testing/runs.world.js';

const ACTOR = { by: 'key:test', mayManage: false };

let world: RunsWorld;
beforeEach(async () => void (world = await RunsWorld.create()));
afterEach(async () => await world.end());

describe('a tree of runs', () => {
  it('B6 S2.4 has a row for each delegated run, with its steps and its usage', async () => {
    world.gate.resolve();
    const one = await world.replica();
    const run = await one.run('boss');
    expect(await ended(one, run)).toMatchObject({ state: 'completed' });
    const tree = await one.reader.tree(keyOf(run));
    expect(tree).toMatchObject({
      subtree: { tokens: 5 * TOKENS },
      children: [{ run: { agentId: 'looker', state: 'completed', depth: 1 }, subtree: { tokens: 3 * TOKENS } }],
    });
    const exported = await one.reader.export(keyOf(run));
    expect(exported.children[0]?.steps.at(-1)?.step.type).toBe('finished');
    const child = { namespace: 'default', id: tree.children[0]?.run.id ?? '' };
    await expect(one.runs.cancel(child, { ...ACTOR, mayManage: true })).rejects.toMatchObject({
      code: 'RUN_DELEGATED',
    });
  });

  it('B6 S2.4 continues a delegated run from its own steps when another replica takes the root over', async () => {
    const first = await world.replica();
    const run = await first.run('boss');
    await until("the child's tool works", () => world.executed.length === 1);
    await world.endLeases();
    const second = await world.replica();
    await until('the second replica executes it', () => world.executed.length === 2);
    world.gate.resolve();
    expect(await ended(second, run)).toMatchObject({ state: 'completed', attempts: 2 });
    expect([world.agents.callsOf('boss'), world.agents.callsOf('looker')]).toEqual([2, 3]);
    expect((await budgetOf(second, run)).used).toBe(5 * TOKENS);
  });
});

describe('a run of an agent with its own loop', () => {
  it('B6 has the same record and the same payment', async () => {
    world.agents.foreign.set('remote', () => new FakeAgent('remote', () => answers('from afar', USED), 'api'));
    const one = await world.replica();
    const run = await one.run('remote');
    const done = await ended(one, run);
    expect(done).toMatchObject({ state: 'completed', usage: USED });
    expect(await stepsOf(one, run)).toEqual(['message', 'agent-called', 'finished']);
    expect(await budgetOf(one, run)).toEqual({ used: TOKENS, held: 0 });
  });

  it('B6 is not repeated blindly after an interruption', async () => {
    const made: FakeAgent[] = [];
    world.agents.foreign.set('remote', () => {
      const isFirst = made.length === 0;
      const agent = new FakeAgent('remote', (_text, options) => (isFirst ? hangs(options) : answers('again')), 'api');
      made.push(agent);
      return agent;
    });
    const first = await world.replica();
    const run = await first.run('remote');
    await until('the agent works', () => made[0]?.calls.length === 1);
    await world.endLeases();
    const second = await world.replica();
    const waiting = await ended(second, run);
    expect(waiting).toMatchObject({ state: 'waiting', waitingFor: 'needs_review' });
    const [pending] = waiting.result?.approvals ?? [];
    const decision = { callId: run.id, inputHash: pending?.inputHash ?? '', approved: true };
    await second.runs.approve(keyOf(run), decision, ACTOR);
    expect(await ended(second, run)).toMatchObject({ state: 'completed' });
  });
});

describe('the feed of a run', () => {
  it('B6 yields each step once on any replica, live text, and the end', async () => {
    world.agents.defined.set('talker', { script: () => ({ ...using(USED, say('one two three')), delayMs: 300 }) });
    const [one, other] = [await world.replica(), await world.replica({ maxRunning: 0 })];
    const run = await one.run('talker');
    const seen: string[] = [];
    const signal = new AbortController().signal;
    for await (const event of other.feed.watch(keyOf(run), 0, signal)) {
      if (event.type === 'step') seen.push(`step ${event.stored.seq}`);
      else if (event.type === 'state') seen.push(event.run.state);
      else seen.push(event.type);
    }
    expect(seen.filter((text) => text.startsWith('step'))).toEqual(['step 1', 'step 2']);
    expect(seen.at(-1)).toBe('completed');
    const rest = [];
    for await (const event of one.feed.watch(keyOf(run), 1, signal)) rest.push(event.type);
    expect(rest).toEqual(['step', 'state']);
  });
});
