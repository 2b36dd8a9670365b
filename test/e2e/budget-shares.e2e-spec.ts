import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { registrationBody } from '../support/given.js';

interface Budget {
  id: string;
  reserved: { tokens: number };
}

let api: TestApi;
let other: TestApi;
let caller: string;
let stranger: string;
let operator: string;
beforeAll(async () => {
  api = await startApi();
  other = await api.replica();
  [caller, stranger] = [await api.given.key('caller'), await api.given.key('caller')];
  operator = await api.given.key('operator');
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const reserve = async (key: string, body: object, on = api): Promise<Answer> =>
  await on.call('POST', '/v1/budgets/reservations', { key, body });
const open = async (kind: string, subject: string | undefined, tokens: number): Promise<void> => {
  const body = { kind, ...(subject !== undefined && { subject }), limit: { tokens } };
  const { status } = await api.call('POST', '/v1/budgets', { body });
  expect(status).toBe(201);
};
const heldOn = async (kind: string, subject?: string): Promise<number> => {
  const query = subject === undefined ? '' : `&subject=${subject}`;
  const { body } = await api.call<{ items: Budget[] }>('GET', `/v1/budgets?kind=${kind}${query}`);
  return body.items[0]?.reserved.tokens ?? -1;
};
/** Releases everything that the credential holds under these keys. */
const release = async (key: string, names: readonly string[]): Promise<void> => {
  for (const name of names) await api.call('POST', `/v1/budgets/reservations/${name}/release`, { key, body: {} });
};

describe('the share of one credential on a budget that others use, too', () => {
  it('S-10 500 concurrent reservations on two replicas hold exactly 25 % of the budget of the fleet, and another credential still reserves', async () => {
    await open('fleet', undefined, 10_000);
    const answers = await Promise.all(
      Array.from(
        { length: 500 },
        async (_, n) => await reserve(caller, { key: `f-${n}`, tokens: 100 }, n % 2 ? api : other),
      ),
    );
    const granted = answers.flatMap(({ status }, n) => (status === 201 ? [`f-${n}`] : []));
    expect(granted).toHaveLength(25);
    expect(await heldOn('fleet')).toBe(2_500);
    const refused = answers.find(({ status }) => status !== 201);
    expect(refused).toMatchObject({ status: 403, body: { code: 'BUDGET_SHARE_EXCEEDED', asked: 100 } });
    expect(refused?.body).not.toHaveProperty('share'); // it would reveal the limit of the fleet
    expect(refused?.body['detail']).toContain('at most 25 % of the total budget of all namespaces');
    expect(await reserve(stranger, { key: 'f', tokens: 100 })).toMatchObject({ status: 201 });
    await release(caller, granted.slice(0, 1));
    expect(await reserve(caller, { key: 'again', tokens: 100 })).toMatchObject({ status: 201 });
    expect(await reserve(operator, { key: 'f', tokens: 5_000 })).toMatchObject({ status: 201 });
    await release(caller, [...granted, 'again']);
    await release(operator, ['f']);
  });

  it('S-10 the error states the share and what is left of it, and fewer tokens are reserved if the request allows that', async () => {
    await open('namespace', 'default', 4_000);
    expect(await reserve(caller, { key: 'n-1', tokens: 900 })).toMatchObject({ status: 201 });
    const refused = await reserve(caller, { key: 'n-2', tokens: 101 });
    const setting = 'quotas.budgetShare (ROLLCALL_QUOTAS)';
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'BUDGET_SHARE_EXCEEDED', share: 1_000, held: 900, left: 100, asked: 101, setting },
    });
    expect(refused.body['detail']).toContain(
      'Your share is 1000 tokens. You hold 900, so 100 are left; 101 are requested.',
    );
    const reduced = await reserve(caller, { key: 'n-3', tokens: 500, atLeastTokens: 50 });
    expect(reduced).toMatchObject({ status: 201, body: { held: { tokens: 100 } } });
    await release(caller, ['n-1', 'n-3']);
  });

  it('S-10 the budget of an agent is shared, unless the credential registered the agent', async () => {
    const owner = await api.given.key('agent');
    for (const [agentId, key] of [
      ['mine', owner],
      ['theirs', operator],
    ] as const) {
      const body = registrationBody({ agentId, budget: { totalTokens: 2_000 } });
      expect(await api.call('POST', '/v1/agents', { key, body })).toMatchObject({ status: 201 });
    }
    expect(await reserve(owner, { key: 'a', agentId: 'mine', tokens: 900 })).toMatchObject({ status: 201 });
    expect(await reserve(caller, { key: 'a', agentId: 'theirs', tokens: 900 })).toMatchObject({
      status: 403,
      body: { code: 'BUDGET_SHARE_EXCEEDED', budget: { kind: 'agent', subject: 'theirs' }, share: 500 },
    });
    await release(owner, ['a']);
  });

  it('S-10 a reservation of a credential without budgets:write lasts at most one hour', async () => {
    const long = { key: 'long', tokens: 1, ttlSeconds: 3_601 };
    expect(await reserve(caller, long)).toMatchObject({
      status: 403,
      body: { code: 'RESERVATION_TOO_LARGE', limit: 3_600 },
    });
    expect(await reserve(operator, long)).toMatchObject({ status: 201 });
  });

  it('S-10 the operator sets the share, and 0 disables it', async () => {
    for (const [share, status] of [
      ['50', 403],
      ['0', 201],
    ] as const) {
      const replica = await api.replica({ ROLLCALL_QUOTAS: `budgetShare=${share}` });
      expect(await reserve(caller, { key: `s-${share}`, tokens: 2_001 }, replica)).toMatchObject({ status });
      await release(caller, [`s-${share}`]);
      await replica.stop();
    }
  });
});
