import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

interface RunBody {
  id: string;
  state: string;
  [field: string]: unknown;
}

let here: TestApi;
let there: TestApi;
beforeAll(async () => {
  here = await startApi();
  there = await here.replica({ ROLLCALL_RUNS_MAX: '0' });
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

/** A run of this agent takes ten seconds, unless it is cancelled. */
const SLOW = {
  description: 'Reads the clock.',
  tools: ['clock'],
  model: { vendor: 'scripted', model: 'steps' },
  maxConcurrency: 1,
};
const LONG = 'Read it 50 times.';
const FAST = { description: 'Echoes.', tools: [] };

const define = async (name: string, content: object = SLOW): Promise<Answer> =>
  await here.call('POST', '/v1/definitions', { body: { name, content } });
const spawn = async (body: object, on = here): Promise<Answer> => await on.call('POST', '/v1/runtime/agents', { body });
const start = async (target: object, input = 'Hello.', on = here): Promise<Answer<RunBody>> =>
  await on.call<RunBody>('POST', '/v1/runs', { body: { ...target, input } });
const ended = async ({ body }: Answer<RunBody>): Promise<RunBody> =>
  (await here.call<RunBody>('GET', `/v1/runs/${body.id}?waitMs=20000`)).body;
const cancel = async ({ body }: Answer<RunBody>): Promise<Answer> =>
  await here.call('POST', `/v1/runs/${body.id}/cancel`, { body: {} });

/** A run that occupies its agent, and a run that waits for the agent. */
async function busyAndWaiting(target: object): Promise<[Answer<RunBody>, Answer<RunBody>]> {
  const busy = await start(target, LONG);
  await until('the first run has a step', async () => {
    const { body } = await here.call<{ items: unknown[] }>('GET', `/v1/runs/${busy.body.id}/steps`);
    return body.items.length > 1;
  });
  const waiting = await start(target);
  await until('the second run is claimed', async () => {
    const { body } = await here.call<RunBody>('GET', `/v1/runs/${waiting.body.id}`);
    return body.state === 'running';
  });
  return [busy, waiting];
}

describe('a run that waits for its agent', () => {
  it('S0.2 records the revision with which it is executed', async () => {
    await define('changes');
    const [busy, waiting] = await busyAndWaiting({ definition: 'changes' });
    const content = { ...SLOW, model: { vendor: 'scripted', model: 'echo' } };
    await here.call('PUT', '/v1/definitions/changes', { body: { content } });
    expect(await ended(waiting)).toMatchObject({
      state: 'completed',
      definition: { name: 'changes', revision: 2 },
      result: { parts: [{ text: 'You said: Hello.' }] },
    });
    const { body } = await here.call('GET', `/v1/runs/${busy.body.id}`);
    expect(body).toMatchObject({ state: 'running', definition: { revision: 1 } });
    await cancel(busy);
  });

  it('S0.6 fails with DEFINITION_NOT_FOUND if the definition is removed', async () => {
    await define('leaves');
    await spawn({ definition: 'leaves' });
    const [busy, waiting] = await busyAndWaiting({ definition: 'leaves' });
    await here.call('DELETE', '/v1/definitions/leaves');
    expect(await ended(waiting)).toMatchObject({
      state: 'failed',
      result: { error: { code: 'DEFINITION_NOT_FOUND' } },
    });
    await cancel(busy);
  });

  it('S1.5 fails with AGENT_CLOSED if the agent is shut down, like all other unfinished runs of the agent', async () => {
    await spawn({ name: 'closes', content: SLOW });
    const both = await busyAndWaiting({ agent: 'closes' });
    const later = await start({ agent: 'closes' });
    await here.call('DELETE', '/v1/runtime/agents/closes');
    const closed = { state: 'failed', result: { error: { code: 'AGENT_CLOSED' } } };
    for (const run of [...both, later]) expect(await ended(run)).toMatchObject(closed);
  });
});

describe('a busy agent with whenBusy: reject', () => {
  it.each([
    ['an agent of a definition', async () => void (await define('strict', { ...SLOW, whenBusy: 'reject' })), 'strict'],
    [
      'an agent without a definition',
      async () => void (await spawn({ name: 'own', content: { ...SLOW, whenBusy: 'reject' } })),
      'own',
    ],
  ])(
    '%s: one of the concurrent starts on two replicas is accepted, and the others get 429 AGENT_BUSY',
    async (_, make, name) => {
      await make();
      const target = name === 'strict' ? { definition: name } : { agent: name };
      const starts = Array.from(
        { length: 6 },
        async (__, index) => await start(target, LONG, index % 2 ? here : there),
      );
      const answers = await Promise.all(starts);
      const [accepted, ...others] = answers.toSorted((one, other) => one.status - other.status);
      expect(accepted.status).toBe(202);
      for (const { status, body, headers } of others) {
        expect({ status, code: body['code'] }).toEqual({ status: 429, code: 'AGENT_BUSY' });
        expect(headers.get('retry-after')).toBe('1');
      }
      await cancel(accepted);
      expect(await ended(await start(target, 'Read it 1 time.'))).toMatchObject({ state: 'completed' });
    },
  );
});

describe('the budget of an agent with the name of a definition', () => {
  it('B2 is charged by runs of the definition, is listed by /effective, and rejects a run when it is used up', async () => {
    await define('paid', FAST);
    const limit = { tokens: 10_000 };
    await here.call('POST', '/v1/budgets', { body: { kind: 'agent', subject: 'paid', window: 'total', limit } });
    const budget = async (): Promise<{ id: string; usage: { own: { tokens: number } } }> => {
      const { body } = await here.call<{ items: never[] }>('GET', '/v1/budgets?kind=agent&subject=paid');
      return body.items[0];
    };
    expect(await ended(await start({ definition: 'paid' }))).toMatchObject({ state: 'completed' });
    const { id, usage } = await budget();
    const { tokens } = usage.own;
    expect(tokens).toBeGreaterThan(0);
    const effective = await here.call('GET', '/v1/definitions/paid/effective');
    expect(effective.body).toMatchObject({
      budgets: [{ kind: 'agent', subject: 'paid', limit, remaining: { tokens: limit.tokens - tokens } }],
    });
    const body = { limit: { tokens }, note: 'used up' };
    await here.call('POST', `/v1/budgets/${id}/adjust`, { body });
    expect(await start({ definition: 'paid' })).toMatchObject({
      status: 402,
      body: { code: 'SPENDING_LIMIT_REACHED' },
    });
  });
});

describe('two replicas', () => {
  it('S1.3 a run of an agent that another replica has just spawned is executed by that replica', async () => {
    for (let round = 0; round < 4; round++) {
      await spawn({ name: `new-${round}`, content: FAST });
      const run = await start({ agent: `new-${round}` }, 'Hello.', there);
      expect(run.status).toBe(202);
      expect(await ended(run)).toMatchObject({ state: 'completed' });
    }
  });

  it('S1.5 runs of an agent without a definition run only on its host, and fail with AGENT_CLOSED if the host is silent', async () => {
    const { db } = here.database;
    await spawn({ name: 'far', content: FAST }, there); // this replica executes no runs
    const run = await start({ agent: 'far' });
    const stateOf = async (): Promise<string> =>
      (await here.call<RunBody>('GET', `/v1/runs/${run.body.id}`)).body.state;
    await db.query(`UPDATE run SET queued_at = clock_timestamp() - interval '1 hour' WHERE id = $1`, [run.body.id]);
    await spawn({ name: 'near', content: FAST });
    expect(await ended(await start({ agent: 'near' }))).toMatchObject({ state: 'completed' });
    expect(await stateOf()).toBe('queued');
    await until('the other replica claims the run', async () => {
      await db.query(
        `UPDATE agent_lease SET last_beat_at = clock_timestamp() - interval '20 seconds' WHERE agent_id = 'far'`,
      );
      return (await stateOf()) !== 'queued';
    });
    expect(await ended(run)).toMatchObject({ state: 'failed', result: { error: { code: 'AGENT_CLOSED' } } });
  });

  it('S1.5 the run of an agent without a definition fails with AGENT_CLOSED when its host stops', async () => {
    const leaving = await here.replica();
    await spawn({ name: 'leaving', content: SLOW }, leaving);
    const run = await start({ agent: 'leaving' }, LONG, leaving);
    await until('the run has a step', async () => {
      const { body } = await here.call<{ items: unknown[] }>('GET', `/v1/runs/${run.body.id}/steps`);
      return body.items.length > 1;
    });
    await leaving.stop();
    expect(await ended(run)).toMatchObject({ state: 'failed', result: { error: { code: 'AGENT_CLOSED' } } });
  });

  it('S1.3 an external agent is not found among the hosted agents, and the message says where it is listed', async () => {
    await here.given.agent({ agentId: 'outside' });
    for (const method of ['GET', 'DELETE'])
      expect((await here.call(method, '/v1/runtime/agents/outside')).body).toMatchObject({
        code: 'AGENT_NOT_FOUND',
        detail: expect.stringMatching(
          /^No replica hosts an agent "outside"\..* GET \/v1\/agents also lists external agents\.$/,
        ) as string,
      });
  });

  it('S1.2 a definition cannot get the name of a live agent that was not built from it', async () => {
    await spawn({ name: 'taken', content: FAST });
    expect(await define('taken')).toMatchObject({ status: 409, body: { code: 'AGENT_ALREADY_EXISTS' } });
  });
});
