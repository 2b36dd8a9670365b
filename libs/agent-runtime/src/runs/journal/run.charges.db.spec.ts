import { type AgentEvent, type AgentResult, ProviderError } from '#rollcall/providers';
import { callTool, say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { paidAgent } from '../../calls/paid.call.js';
import { ends, FakeAgent } from '../../testing/fake.agent.js';
import { InMemorySpending } from '../../testing/in-memory.spending.js';
import { budgetOf, ended, keyOf, RunsWorld, TOKENS, USED } from '../../testing/runs.world.js';
import { defineTool, type Tool } from '../../tools/tool.js';
import type { Run } from '../run.js';

const ACTOR = { by: 'key:test', mayManage: true };
const QUESTION: AgentResult = { outcome: 'input-required', parts: [], usage: USED };

let world: RunsWorld;
beforeEach(async () => void (world = await RunsWorld.create()));
afterEach(async () => await world.end());

/** Cancels a run in a transaction, as the API does. */
async function cancelInside(run: Run): Promise<void> {
  const db = await world.database.connectAgain();
  const other = await world.replica({ maxRunning: 0 }, db);
  await db.transaction(async () => await other.runs.cancel(keyOf(run), ACTOR));
}

async function nothingHeld(): Promise<void> {
  await until('nothing is reserved', async () => {
    const held = await world.database.db.query(`SELECT FROM budget_reservation WHERE state = 'held'`);
    return held.length === 0;
  });
}

function tool(name: string, execute: () => Promise<string> | string): Tool {
  return defineTool({ name, description: 'Works.', idempotent: true, execute });
}

/** Fails before the first event. */
async function* unreachable(): AsyncGenerator<AgentEvent> {
  const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  yield await Promise.reject<AgentEvent>(new ProviderError('AGENT_FAILED', 'The agent cannot be reached.', { cause }));
}

describe('the charges of a run', () => {
  it('B2 all runs of a tree that is cancelled in a transaction are charged, and nothing stays reserved on their budgets', async () => {
    const one = await world.replica();
    const run = await one.run('boss');
    await until('the delegated run calls its tool', () => world.executed.length === 1);
    await cancelInside(run);
    await nothingHeld();
    expect(await budgetOf(one, run)).toEqual({ used: 2 * TOKENS, held: 0 });
  });

  it('B2 a continued run is not charged for a call that was never sent', async () => {
    let calls = 0;
    const behave = (): AsyncGenerator<AgentEvent> => ((calls += 1) === 1 ? ends(QUESTION) : unreachable());
    world.agents.external.set('remote', () => new FakeAgent('remote', behave, 'api'));
    const one = await world.replica();
    const run = await one.run('remote');
    expect(await ended(one, run)).toMatchObject({ state: 'waiting' });
    await one.runs.continue(keyOf(run), { parts: [{ type: 'text', text: 'more' }] }, ACTOR);
    expect(await ended(one, run)).toMatchObject({ state: 'failed' });
    expect(await budgetOf(one, run)).toEqual({ used: TOKENS, held: 0 });
  });

  it('B2 a continued run that fails is charged for the replies of this execution', async () => {
    world.agents.defined.set('unlucky', {
      script: ({ messages }) => {
        const replies = messages.filter(({ role }) => role === 'assistant').length;
        if (replies === 2) throw new ProviderError('MODEL_KEY_MISSING', 'There is no key.');
        return using(USED, replies === 0 ? callTool('spend', {}, 'c0') : callTool('look', {}, 'c1'));
      },
      tools: [{ ...tool('spend', () => 'worked'), needsApproval: true }, tool('look', () => 'worked')],
    });
    const one = await world.replica();
    const run = await one.run('unlucky');
    const [call] = (await ended(one, run)).result?.approvals ?? [];
    if (!call) throw new Error('a call must wait for an approval');
    const { callId, inputHash } = call;
    await one.runs.approve(keyOf(run), { callId, inputHash, approved: true }, ACTOR);
    expect(await ended(one, run)).toMatchObject({ state: 'failed' });
    expect(await budgetOf(one, run)).toEqual({ used: 2 * TOKENS, held: 0 });
  });

  it('S-6 the usage that a model reports is limited by the reservation when the run is cancelled, too', async () => {
    const reported = { inputTokens: 1_000_000_000, outputTokens: 5 };
    const work = async (): Promise<string> => {
      world.executed.push('look');
      await world.gate.promise;
      return 'worked';
    };
    world.agents.defined.set('liar', {
      script: ({ messages }) =>
        messages.some(({ role }) => role === 'assistant') ? say('done') : using(reported, callTool('look', {}, 'c0')),
      tools: [tool('look', work)],
    });
    const one = await world.replica();
    const run = await one.run('liar');
    await until('the tool is called', () => world.executed.length === 1);
    await cancelInside(run);
    await nothingHeld();
    expect((await budgetOf(one, run)).used).toBeLessThan(1_000_000);
  });

  it('B2 a call of an external agent that is aborted before it is sent costs nothing', async () => {
    const spending = new InMemorySpending();
    const agent = new FakeAgent('remote', () => ends(QUESTION), 'api');
    const target = { name: 'remote', agent, close: async () => await Promise.resolve() };
    const place = { namespace: 'default', rootRunId: 'r', runId: 'r', agentName: 'remote', ancestry: [], depth: 0 };
    const options = { context: { ...place, deadline: null }, signal: AbortSignal.abort() };
    const events = paidAgent(target, { spending }).handle({ parts: [] }, options)[Symbol.asyncIterator]();
    await expect(events.next()).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    expect(await spending.usageOf({ namespace: 'default', runId: 'r' })).toMatchObject({
      own: { tokens: 0 },
      reserved: { tokens: 0 },
    });
  });
});
