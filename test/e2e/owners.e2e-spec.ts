import { AgentClient, pathOf, type Registration } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { registrationBody } from '../support/given.js';
import { refusal } from '../support/socket-client.js';

let api: TestApi;
let replica: TestApi;
let owner: string;
let stranger: string;
let operator: string;
let agents = 0;

beforeAll(async () => {
  api = await startApi();
  replica = await api.replica();
  owner = await api.given.key('agent');
  stranger = await api.given.key('agent');
  operator = await api.given.key('operator');
});
afterAll(async () => {
  await replica.stop();
  await api.stop();
});

const newId = (): string => `agent-${++agents}`;
const register = async (key: string, body: object, at = api): Promise<Answer<Registration & { code?: string }>> =>
  await at.call('POST', '/v1/agents', { key, body: registrationBody(body) });
const beat = async ({ agentId, generation, leaseToken: key }: Registration, at = api): Promise<Answer> =>
  await at.call('POST', `/v1/agents/${agentId}/heartbeat`, { key, body: { generation } });
const idOf = async (key: string): Promise<unknown> => (await api.call('GET', '/v1/me', { key })).body['id'];
const NOT_THE_OWNER = { status: 403, body: { code: 'NOT_THE_OWNER' } };

/** One request of each kind that acts for an agent. */
const actions: [string, (agent: Registration, key: string) => Promise<Answer>][] = [
  ['sends a heartbeat', async (agent, key) => await beat({ ...agent, leaseToken: key }, replica)],
  [
    'updates the agent',
    async ({ agentId }, key) => await replica.call('PATCH', `/v1/agents/${agentId}`, { key, body: { version: '2' } }),
  ],
  ['deregisters the agent', async ({ agentId }, key) => await api.call('DELETE', `/v1/agents/${agentId}`, { key })],
];

describe('acting for an agent', () => {
  it.each(actions)('the owner %s with its key; another agent key gets NOT_THE_OWNER', async (_what, act) => {
    const agent = await api.given.agent({ agentId: newId() }, owner);
    expect(agent['agent']).toMatchObject({ owner: await idOf(owner) });
    const refused = await act(agent, stranger);
    expect(refused).toMatchObject(NOT_THE_OWNER);
    expect(refused.body['detail']).toContain('Use the lease token of the agent, or the key that registered it.');
    expect((await act(agent, owner)).status).toBeLessThan(300);
  });

  it.each(actions)('an operator %s with its key, even if another key owns the agent', async (_what, act) => {
    const agent = await api.given.agent({ agentId: newId() }, owner);
    expect((await act(agent, operator)).status).toBeLessThan(300);
  });

  it('a heartbeat with the key of the owner is rejected for another generation', async () => {
    const agent = await api.given.agent({ agentId: newId() }, owner);
    expect(await beat({ ...agent, generation: 2, leaseToken: owner })).toMatchObject({
      status: 409,
      body: { code: 'GENERATION_AHEAD' },
    });
  });

  it('the owner opens the socket of the agent with its key; another agent key is rejected', async () => {
    const agent = await api.given.agent({ agentId: newId() }, owner);
    const client = await AgentClient.connect(replica.url, { ...agent, leaseToken: owner });
    client.send('beat');
    await client.received('beaten');
    client.socket.close();
    expect(await refusal(replica.url, pathOf(agent), { key: stranger })).toEqual({
      status: 403,
      code: 'NOT_THE_OWNER',
    });
  });

  it('a rotated key owns the agents of the key that it replaces', async () => {
    const key = await api.given.key('agent');
    const { agentId } = await api.given.agent({ agentId: newId() }, key);
    const id = String(await idOf(key)).replace('key:', '');
    let last = id;
    let secret = key;
    for (let rotations = 0; rotations < 2; rotations++) {
      const { body } = await api.call('POST', `/v1/keys/${last}/rotate`, { body: {} });
      [last, secret] = [String(body['id']), String(body['key'])];
    }
    const back = await register(secret, { agentId, takeover: true });
    expect(back).toMatchObject({ status: 201, body: { generation: 2, agent: { owner: `key:${id}` } } });
    expect((await api.call('DELETE', `/v1/agents/${agentId}`, { key: secret })).status).toBe(204);
  });
});

describe('spending', () => {
  const reserve = async (key: string, body: object): Promise<Answer> =>
    await api.call('POST', '/v1/budgets/reservations', { key, body: { key: newId(), tokens: 10, ...body } });
  const openRun = async (key: string, body: object): Promise<Answer> =>
    await replica.call('POST', '/v1/budgets/runs', { key, body });

  it('the owner reserves on the budget of its agent; another agent key gets NOT_THE_OWNER, and nothing is held', async () => {
    const { agentId } = await api.given.agent({ agentId: newId(), budget: { totalTokens: 100 } }, owner);
    const foreign = await reserve(stranger, { agentId, tokens: 100 });
    expect(foreign).toMatchObject(NOT_THE_OWNER);
    expect(foreign.body['detail']).toMatch(/budgets:spend-any/);
    expect(foreign.body['detail']).not.toMatch(/lease token/); // a lease token cannot reserve
    expect(await reserve(owner, { agentId, tokens: 60 })).toMatchObject({ status: 201 });
    expect(await reserve(operator, { agentId, tokens: 40 })).toMatchObject({ status: 201 });
    expect(await reserve(owner, { agentId: 'unknown' })).toMatchObject({ status: 404 });
    expect(await reserve(stranger, {})).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  });

  it('if the owner and a stranger reserve concurrently, only the reservations of the owner are held', async () => {
    const { agentId } = await api.given.agent({ agentId: newId(), budget: { totalTokens: 100 } }, owner);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => await reserve(index % 2 ? owner : stranger, { agentId })),
    );
    for (const [index, answer] of answers.entries()) expect(answer.status).toBe(index % 2 ? 201 : 403);
    expect(await reserve(owner, { agentId })).toMatchObject({ status: 402 });
  });

  it('only the owner of a run reserves on it and opens runs below it', async () => {
    const [runId, child] = [newId(), newId()];
    expect(await openRun(owner, { runId, limit: { tokens: 50 } })).toMatchObject({ status: 201 });
    expect(await reserve(stranger, { runId })).toMatchObject(NOT_THE_OWNER);
    expect(await openRun(stranger, { runId: child, parentRunId: runId })).toMatchObject(NOT_THE_OWNER);
    expect(await openRun(stranger, { runId })).toMatchObject(NOT_THE_OWNER);
    expect(await openRun(owner, { runId: child, parentRunId: runId })).toMatchObject({ status: 201 });
    expect(await reserve(owner, { runId: child })).toMatchObject({ status: 201 });
    expect(await reserve(operator, { runId: child })).toMatchObject({ status: 201 });
    expect(await openRun(operator, { runId: newId(), parentRunId: runId })).toMatchObject({ status: 201 });
  });

  it('a reservation belongs to the key that made it', async () => {
    const { agentId } = await api.given.agent({ agentId: newId() }, owner);
    const key = newId();
    expect((await reserve(owner, { key, agentId })).status).toBe(201);
    const settle = async (as: string): Promise<Answer> =>
      await api.call('POST', `/v1/budgets/reservations/${key}/settle`, { key: as, body: { tokens: 1 } });
    expect(await settle(stranger)).toMatchObject({ status: 404, body: { code: 'RESERVATION_NOT_FOUND' } });
    expect(await settle(owner)).toMatchObject({ status: 200 });
  });
});

describe('a takeover', () => {
  it('the 409 response explains takeover to the owner, but not to another agent key', async () => {
    const agentId = newId();
    await api.given.agent({ agentId }, owner);
    const [mine, foreign] = [await register(owner, { agentId }), await register(stranger, { agentId, takeover: true })];
    for (const answer of [mine, foreign])
      expect(answer).toMatchObject({ status: 409, body: { code: 'AGENT_ALREADY_REGISTERED' } });
    expect(JSON.stringify(mine.body)).toContain('takeover');
    expect(JSON.stringify(foreign.body)).not.toContain('takeover');
  });

  it('the new registration is live immediately on both replicas, and the old lease token is refused', async () => {
    const agentId = newId();
    const crashed = await api.given.agent({ agentId }, owner);
    const { status, body: back } = await register(owner, { agentId, takeover: true }, replica);
    expect({ status, generation: back.generation }).toEqual({ status: 201, generation: 2 });
    for (const at of [api, replica]) {
      expect((await beat(back, at)).status).toBe(200);
      expect([401, 403]).toContain((await beat(crashed, at)).status);
    }
  });

  it('A9 another agent key cannot register the agentId after the agent has left', async () => {
    const agentId = newId();
    await api.given.agent({ agentId }, owner);
    await api.call('DELETE', `/v1/agents/${agentId}`, { key: owner });
    expect(await register(stranger, { agentId, takeover: true })).toMatchObject(NOT_THE_OWNER);
    expect(await register(owner, { agentId })).toMatchObject({ status: 201, body: { generation: 2 } });
  });

  it('a batch takes over only the agents of its sender', async () => {
    const [mine, foreign] = [newId(), newId()];
    await api.given.agent({ agentId: mine }, owner);
    await api.given.agent({ agentId: foreign }, stranger);
    const body = { agents: [mine, foreign].map((agentId) => registrationBody({ agentId, takeover: true })) };
    expect(await api.call('POST', '/v1/agents/batch', { key: owner, body })).toMatchObject({
      status: 200,
      body: {
        results: [
          { status: 201, registration: { generation: 2 } },
          { status: 409, problem: { code: 'AGENT_ALREADY_REGISTERED' } },
        ],
      },
    });
  });

  it('a repeated takeover with the same Idempotency-Key returns the same registration', async () => {
    const agentId = newId();
    await api.given.agent({ agentId }, owner);
    const body = registrationBody({ agentId, takeover: true });
    const headers = { 'idempotency-key': newId() };
    const send = async (at: TestApi): Promise<Answer> =>
      await at.call('POST', '/v1/agents', { key: owner, body, headers });
    const [first, again] = [await send(api), await send(replica)];
    expect(first).toMatchObject({ status: 201, body: { generation: 2 } });
    expect(again.body).toEqual(first.body);
  });

  it('concurrent takeovers on two replicas get different generations, and only the last lease token is valid', async () => {
    const agentId = newId();
    await api.given.agent({ agentId }, owner);
    const answers = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const headers = index % 3 ? undefined : { 'idempotency-key': newId() };
        const body = registrationBody({ agentId, takeover: true });
        return await (index % 2 ? api : replica).call<Registration>('POST', '/v1/agents', {
          key: owner,
          body,
          headers,
        });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const won = answers.map(({ body }) => body).toSorted((a, b) => a.generation - b.generation);
    expect(won.map(({ generation }) => generation)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for (const registration of won)
      for (const at of [api, replica])
        expect((await beat(registration, at)).status === 200).toBe(registration.generation === 11);
  });

  it('an open circuit stays open on both replicas after a takeover', async () => {
    const agentId = newId();
    await api.given.agent({ agentId, capabilities: ['risky'], circuit: 'open' }, owner);
    await register(owner, { agentId, capabilities: ['risky'], takeover: true }, replica);
    for (const at of [api, replica]) {
      const body = { capabilities: ['risky'], explain: true, consistency: 'strong' };
      expect((await at.call('POST', '/v1/agents/query', { body })).body).toMatchObject({
        candidates: [],
        excluded: [{ agentId, exclusions: [{ code: 'circuit_open' }] }],
      });
    }
  });
});
