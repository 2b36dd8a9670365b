import type { AddressInfo } from 'node:net';
import { Delegation } from '#rollcall/agent-runtime';
import { AgentProviderRegistry, VendorRegistry } from '#rollcall/providers';
import { until } from '#rollcall/test-support';
import { BUILDERS, BuilderProvider } from '../../examples/contract-net/builders.js';
import { AgentClient } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import { AUCTIONEER, endpoint, ODD_BIDS, ODD_PROVIDER } from '../support/bidders.js';
import type { Answer } from '../support/call.js';
import type { GivenAgent } from '../support/given.js';

interface ContractBody {
  id: string;
  state: string;
  winner: string | null;
  bids: { agentId: string; answer: string | null; rank: number | null }[];
  transcript: { kind: string; data: Record<string, unknown> }[];
  [field: string]: unknown;
}

let api: TestApi;
/** Another replica on the same database. */
let other: TestApi;
let builders: BuilderProvider;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1' });
  other = await api.replica({});
  builders = new BuilderProvider();
  other.app.nest.get(AgentProviderRegistry, { strict: false }).register(builders).register(ODD_PROVIDER);
  api.app.nest.get(VendorRegistry, { strict: false }).register(AUCTIONEER);
  other.app.nest.get(VendorRegistry, { strict: false }).register(AUCTIONEER);
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const announce = async (body: object, key?: string): Promise<ContractBody> => {
  const answer = await api.call<ContractBody>('POST', '/v1/contracts', { key, body: { task: 'Build it.', ...body } });
  expect(answer.status).toBe(201);
  return answer.body;
};
const get = async (id: string, key?: string): Promise<ContractBody> =>
  (await other.call<ContractBody>('GET', `/v1/contracts/${id}`, { key })).body;
const reach = async (id: string, state: string): Promise<ContractBody> => {
  await until(`the contract is ${state}`, async () => (await get(id)).state === state);
  return await get(id);
};
const answer = async (id: string, what: string, agent: GivenAgent, body: object = {}): Promise<Answer> => {
  const { agentId, generation, leaseToken: key } = agent;
  return await other.call('POST', `/v1/contracts/${id}/${what}`, { key, body: { agentId, generation, ...body } });
};
/** Waits for a notice. The same notice may arrive more than once. */
const notice = async (socket: AgentClient | undefined, action: string): Promise<unknown> => {
  const find = (): unknown => socket?.of('control').find((data) => data['action'] === action);
  await until(`the notice ${action} is received`, () => find() !== undefined);
  return find();
};
const terms = (price: number): object => ({ price, etaMs: 1_000, confidence: 1 });

describe('the contract net over HTTP (S3.9)', () => {
  it('S3.9 invites agents over their sockets on any replica, and notifies the winner and the losers', async () => {
    const [winner, loser] = [
      await api.given.agent({ agentId: 'ws-1', capabilities: ['weave'] }),
      await api.given.agent({ agentId: 'ws-2', capabilities: ['weave'] }),
    ];
    const sockets = [await AgentClient.connect(api.url, winner), await AgentClient.connect(other.url, loser)];
    const viewer = await api.given.key('viewer');
    const { id } = await announce({ capabilities: ['weave'], task: 'Weave a net.', limits: { price: 5_000 } });
    for (const socket of sockets)
      expect(await notice(socket, 'bid')).toMatchObject({
        action: 'bid',
        contractId: id,
        task: 'Weave a net.',
        maxPrice: 5_000,
      });
    expect(await answer(id, 'bids', winner, terms(6_000))).toMatchObject({
      status: 400,
      body: { code: 'BID_INVALID' },
    });
    expect(await answer(id, 'bids', loser, terms(900))).toMatchObject({ status: 200, body: { revision: 1 } });
    const sealed = await get(id, viewer);
    expect([sealed.bids, sealed.transcript.map(({ kind }) => kind)]).toEqual([[], ['announced']]);
    expect((await answer(id, 'bids', winner, terms(100))).status).toBe(200);
    expect(await notice(sockets[0], 'award')).toMatchObject({ action: 'award', contractId: id });
    expect(await answer(id, 'confirm', loser)).toMatchObject({ status: 409, body: { code: 'CONTRACT_NOT_AWARDED' } });
    expect(await answer(id, 'confirm', winner)).toMatchObject({ status: 200, body: { state: 'confirmed' } });
    expect(await notice(sockets[1], 'lost')).toMatchObject({ action: 'lost', contractId: id });
    expect(await answer(id, 'bids', loser, terms(1))).toMatchObject({ status: 409, body: { code: 'CONTRACT_CLOSED' } });
    expect((await get(id, viewer)).bids.map(({ agentId, rank }) => [agentId, rank])).toEqual([
      ['ws-1', 1],
      ['ws-2', 2],
    ]);
    const done = await api.call('POST', `/v1/contracts/${id}/outcome`, { body: { ok: true, microUsd: 120, ms: 900 } });
    expect(done).toMatchObject({ status: 200, body: { outcome: { ok: true, microUsd: 120, ms: 900 } } });
  });

  it('S3.9 an agent that connects during the auction receives the invitation, and the award that it has not confirmed', async () => {
    const [late, silent] = [
      await api.given.agent({ agentId: 'late-1', capabilities: ['late'] }),
      await api.given.agent({ agentId: 'late-2', capabilities: ['late'] }),
    ];
    const { id } = await announce({ capabilities: ['late'], bidWithinMs: 60_000, confirmWithinMs: 60_000 });
    const socket = await AgentClient.connect(other.url, late);
    expect(await notice(socket, 'bid')).toMatchObject({ action: 'bid', contractId: id });
    expect((await answer(id, 'bids', late, terms(5))).status).toBe(200);
    await api.call('DELETE', `/v1/agents/${silent.agentId}`); // nobody else can answer, so the auction closes
    expect(await notice(socket, 'award')).toMatchObject({ action: 'award', contractId: id });
    const again = await AgentClient.connect(api.url, late);
    expect(await notice(again, 'award')).toMatchObject({ action: 'award', contractId: id });
    await api.call('POST', `/v1/agents/${late.agentId}/quarantine`, { body: {} });
    expect(await reach(id, 'expired')).toMatchObject({ winner: null, expiryReason: 'bidders_left' });
  });

  it('S3.9 posts invitations, awards and losses to endpoints through the guarded egress', async () => {
    const received: Record<string, unknown>[] = [];
    const server = await endpoint((one) => received.push(one));
    const { port } = server.address() as AddressInfo;
    const posted = await api.given.agent({
      agentId: 'posted',
      capabilities: ['post'],
      endpoint: `http://127.0.0.1:${port}/agent`,
    });
    const { id } = await announce({ capabilities: ['post'] });
    await until('the invitation arrives', () => received.length > 0);
    expect(received[0]).toMatchObject({ type: 'contract.bid', agentId: 'posted', contractId: id, task: 'Build it.' });
    await answer(id, 'bids', posted, terms(100));
    await until('the award arrives', () => received.some(({ type }) => type === 'contract.award'));
    await api.call('POST', `/v1/contracts/${id}/cancel`, {});
    await until('the loss arrives', () => received.some(({ type }) => type === 'contract.lost'));
    expect(await reach(id, 'cancelled')).toMatchObject({ winner: null });
    server.close();
  });

  it('S3.9 in the example, three hosted agents with different prices and speeds bid, and the weights decide', async () => {
    for (const [name, settings] of Object.entries(BUILDERS)) {
      const content = { description: 'Builds.', provider: 'builder', settings, capabilities: ['example.build'] };
      const { status } = await other.call('POST', '/v1/runtime/agents', { body: { name, content } });
      expect(status).toBe(201);
    }
    await until('the first replica knows the agents', async () => (await matches('example.build')) === 3);
    const capabilities = ['example.build'];
    const byPrice = await announce({ capabilities, weights: { price: 1, eta: 0, confidence: 0, reliability: 0 } });
    expect(await reach(byPrice.id, 'confirmed')).toMatchObject({ winner: 'boaster', invited: 3, answered: 3 });
    const limited = await announce({ capabilities, limits: { price: 15_000, etaMs: 5_000 } });
    expect(await reach(limited.id, 'expired')).toMatchObject({ expiryReason: 'all_refused' });
    await until('the losers are notified', () => builders.builders.get('swift')?.lostContracts.length === 1);
    const outcome = { ok: true, microUsd: 150_000, ms: 90_000 };
    expect((await api.call('POST', `/v1/contracts/${byPrice.id}/outcome`, { body: outcome })).status).toBe(200);
    const byTime = await announce({ capabilities, weights: { price: 0, eta: 1, confidence: 0, reliability: 0 } });
    expect(await reach(byTime.id, 'confirmed')).toMatchObject({ winner: 'swift' }); // the boaster took longer than it bid
  });

  it('S3.9 starts a run with the winner, and records its cost and time as the outcome', async () => {
    const weights = { price: 1, eta: 0, confidence: 0, reliability: 1 };
    const { id } = await announce({ capabilities: ['example.build'], weights, run: true });
    await until('the outcome is recorded', async () => (await get(id))['outcome'] !== null);
    const contract = await get(id);
    const outcome = { ok: true, microUsd: 20_000, tokens: 20, reason: null };
    expect(contract).toMatchObject({ winner: 'thrifty', outcome });
    expect((await api.call('GET', `/v1/runs/${String(contract['runId'])}`)).body).toMatchObject({
      state: 'completed',
      agentId: 'thrifty',
      budget: { tokens: null, microUsd: 20_000 }, // the price of its bid
      result: { parts: [{ type: 'text', text: 'thrifty built it.' }] },
    });
    expect(contract.transcript.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['run_started', 'outcome']));
    const { body } = await api.call('GET', '/v1/budgets/reconciliation');
    expect(body).toMatchObject({ discrepancies: [] });
    const viewer = await api.given.key('viewer');
    const query = { capabilities: ['example.build'], prefer: 'contract-net' };
    expect((await api.call('POST', '/v1/agents/query', { key: viewer, body: query })).status).toBe(403);
  });

  it('S3.9 a contract with run invites only agents that can run, and the cost of a failed run stays unknown', async () => {
    const server = await endpoint(() => undefined); // its answer to a message is empty
    const { port } = server.address() as AddressInfo;
    const [callable] = [
      await api.given.agent({ agentId: 'callable', capabilities: ['ext'], endpoint: `http://127.0.0.1:${port}/agent` }),
      await api.given.agent({ agentId: 'bare', capabilities: ['ext'] }),
    ];
    const { id } = await announce({ capabilities: ['ext'], run: true });
    expect(await get(id)).toMatchObject({ invited: 1 });
    await answer(id, 'bids', callable, terms(100));
    await reach(id, 'awarded');
    await answer(id, 'confirm', callable);
    await until('the outcome is recorded', async () => (await get(id))['outcome'] !== null);
    const outcome = { ok: false, microUsd: null, tokens: null, reason: expect.stringContaining('The run is failed') };
    expect((await get(id))['outcome']).toMatchObject(outcome);
    server.close();
  });

  it('S3.9 a query whose winner does not confirm has no candidates, and its contract is cancelled', async () => {
    const agent = await api.given.agent({ agentId: 'mute', capabilities: ['mute'] });
    const query = { capabilities: ['mute'], prefer: 'contract-net', waitMs: 2_000, consistency: 'strong' };
    const response = api.call('POST', '/v1/agents/query', { body: query });
    let id = '';
    await until('the contract is announced', async () => {
      const { items } = (await api.call<{ items: ContractBody[] }>('GET', '/v1/contracts?limit=1')).body;
      id = items.find(({ capabilities }) => (capabilities as string[]).includes('mute'))?.id ?? '';
      return id !== '';
    });
    expect((await answer(id, 'bids', agent, terms(1))).status).toBe(200);
    const { body } = await response;
    expect(body).toMatchObject({ candidates: [], contract: { id, winner: null } });
    expect(['cancelled', 'expired']).toContain((await get(id)).state);
  });

  it('S3.9 M-10 agents of the provider native bid the price of their model, and later what their runs have cost', async () => {
    const costModel = { usdPerTask: 0.02, usdPer1kTokens: null };
    const content = { description: 'Works.', capabilities: ['native.work'] };
    await other.call('POST', '/v1/runtime/agents', { body: { name: 'priced', content: { ...content, costModel } } });
    await other.call('POST', '/v1/definitions', { body: { name: 'worker', content } });
    await other.call('POST', '/v1/runtime/agents', { body: { definition: 'worker' } });
    await until('the first replica knows the agents', async () => (await matches('native.work')) === 2);
    const capabilities = ['native.work'];
    const first = await reach((await announce({ capabilities })).id, 'confirmed');
    const offers = (contract: ContractBody): Record<string, unknown>[] =>
      contract.transcript.filter(({ kind }) => kind === 'bid').map(({ data }) => data);
    expect(JSON.stringify(offers(first))).toContain('"price":20000');
    expect(JSON.stringify(offers(first))).toContain('from the price of its model');
    const run = await api.call('POST', '/v1/runs?waitMs=30000', { body: { definition: 'worker', input: 'Hello.' } });
    expect(run.body).toMatchObject({ state: 'completed' });
    const second = await reach((await announce({ capabilities, limits: { price: 15_000 } })).id, 'confirmed');
    expect(second).toMatchObject({ winner: 'worker', answered: 2 });
    expect(JSON.stringify(second.transcript)).toContain('from its last 1 runs');
    expect(JSON.stringify(second.transcript)).toContain('It costs about 20000 micro-dollars.');
  });

  it('S3.9 a hosted agent whose bid fails or is invalid counts as refusing; an agent that does not answer in time is ignored', async () => {
    for (const name of Object.keys(ODD_BIDS)) {
      const content = { description: 'Odd.', provider: 'odd', capabilities: ['odd'] };
      const { status } = await other.call('POST', '/v1/runtime/agents', { body: { name, content } });
      expect(status).toBe(201);
    }
    await until('the first replica knows the agents', async () => (await matches('odd')) === 4);
    const { id } = await announce({ capabilities: ['odd'], bidWithinMs: 1_500 });
    const { bids, winner, transcript } = await reach(id, 'confirmed');
    expect(winner).toBe('honest');
    expect(Object.fromEntries(bids.map((one) => [one.agentId, one.answer]))).toEqual({
      honest: 'bid',
      throws: 'refused',
      negative: 'refused',
      hangs: null,
    });
    const notes = transcript.filter(({ kind }) => kind === 'refused').map(({ data }) => data['note']);
    expect(notes).toHaveLength(2);
    expect(notes).toEqual(expect.arrayContaining(['The agent failed to bid.', expect.stringContaining('price')]));
  });

  it('S3.9 a query with contract-net returns the bidders within its time, with the winner first', async () => {
    const query = { capabilities: ['example.build'], prefer: 'contract-net', waitMs: 8_000, task: 'Build the docs.' };
    const { status, body } = await api.call<{
      candidates: { rank: number; agent: { agentId: string }; reasons: string[] }[];
      contract: { state: string; winner: string };
    }>('POST', '/v1/agents/query', { body: query });
    expect({ status, contract: body.contract }).toMatchObject({ status: 200, contract: { state: 'confirmed' } });
    expect(body.candidates.map(({ agent }) => agent.agentId).toSorted()).toEqual(['boaster', 'swift', 'thrifty']);
    expect(body.candidates[0]).toMatchObject({ rank: 1, agent: { agentId: body.contract.winner } });
    expect(body.candidates[0]?.reasons[0]).toBe('has the award');
    const none = await api.call('POST', '/v1/agents/query', { body: { ...query, capabilities: ['weld'] } });
    expect(none.body).toMatchObject({
      candidates: [],
      contract: { state: 'expired', expiryReason: 'no_capable_agent' },
    });
    const misplaced = await api.call('POST', '/v1/agents/query', { body: { capabilities: ['x'], waitMs: 1_000 } });
    expect(misplaced).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('S3.9 a delegation with contract-net goes to the winner, and its cost becomes the outcome of the contract', async () => {
    const { targets } = other.app.nest.get(Delegation, { strict: false }).services;
    const run = {
      namespace: 'default',
      rootRunId: 'root',
      runId: 'root',
      agentName: 'planner',
      ancestry: [],
      depth: 0,
      deadline: null,
      limits: { maxDepth: 2, maxWidth: 2, maxRuns: 2 },
    };
    const wanted = { capabilities: ['example.build'], prefer: 'contract-net', task: 'Build the site.', waitMs: 8_000 };
    const target = await targets?.open(wanted, run);
    const { items } = (await api.call<{ items: ContractBody[] }>('GET', '/v1/contracts?limit=1')).body;
    expect(items[0]).toMatchObject({
      task: 'Build the site.',
      state: 'confirmed',
      winner: target?.name,
      outcome: null,
    });
    const held = `SELECT 1 FROM budget_reservation WHERE state = 'held' AND key LIKE 'contract-' || $1 || '-%'`;
    expect(await api.database.db.query(held, [items[0]?.id])).toEqual([]); // the delegated run reserves for itself
    await target?.ended?.({ ok: true, usage: { costMicroUsd: 7 } });
    await target?.close();
    expect(await get(items[0]?.id ?? '')).toMatchObject({ outcome: { ok: true, microUsd: 7 } });
    const unknown = targets?.open({ ...wanted, capabilities: ['weld'] }, run);
    await expect(unknown).rejects.toMatchObject({ code: 'DELEGATION_TARGET_UNKNOWN' });
  });

  it('S3.9 delegate_to_agent with contract-net calls a winner that another replica hosts, and the run of the caller pays', async () => {
    const content = { description: 'Plans.', model: { vendor: 'auctioneer', model: 'any' } };
    const planner = await api.call('POST', '/v1/runtime/agents', { body: { name: 'planner', content } });
    expect(planner.status).toBe(201);
    const started = await api.call('POST', '/v1/runs', { body: { agent: 'planner', input: 'Build the app.' } });
    const { body } = await api.call('GET', `/v1/runs/${String(started.body['id'])}?waitMs=20000`);
    expect(body).toMatchObject({
      state: 'completed',
      result: { parts: [{ text: expect.stringMatching(/(thrifty|swift|boaster) built it\./) }] },
    });
    const { items } = (await api.call<{ items: ContractBody[] }>('GET', '/v1/contracts?limit=1')).body;
    const price = BUILDERS[String(items[0]?.winner)]?.actualPrice;
    expect(items[0]).toMatchObject({ task: 'Build the app.', outcome: { ok: true, microUsd: price } });
    const { body: tree } = await api.call('GET', `/v1/runs/${String(started.body['id'])}/tree`);
    expect(tree).toMatchObject({ children: [{ run: { agentId: items[0]?.winner, state: 'completed' } }] });
  });

  it('S3.9 rejects incomplete bids, unknown scoring rules and unusable weights, and lists contracts by state', async () => {
    const agent = await api.given.agent({ agentId: 'lone', capabilities: ['lone'] });
    const { id } = await announce({ capabilities: ['lone'], bidWithinMs: 60_000 });
    const invalid = [{ price: 1 }, { refuse: true, price: 1 }, { ...terms(1), confidence: 2 }, terms(-1)];
    for (const body of invalid)
      expect(await answer(id, 'bids', agent, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    const base = { capabilities: ['lone'], task: 'x' };
    for (const body of [
      { scoring: 'dice' },
      { capabilities: ['c n,'] },
      { weights: { price: 0, eta: 0, confidence: 0, reliability: 0 } },
    ])
      expect(await api.call('POST', '/v1/contracts', { body: { ...base, ...body } })).toMatchObject({
        status: 400,
        body: { code: 'CONTRACT_INVALID' },
      });
    const run = { capabilities: ['lone'], prefer: 'contract-net', input: 'x' };
    expect(await api.call('POST', '/v1/runs', { body: run })).toMatchObject({
      status: 400,
      body: { code: 'UNKNOWN_STRATEGY', detail: expect.stringContaining('POST /v1/contracts and "run": true') },
    });
    const listed = await api.call<{ items: ContractBody[] }>('GET', '/v1/contracts?state=announced&limit=1');
    expect(listed.body.items.map((one) => one.id)).toEqual([id]);
    expect((await answer(id, 'bids', agent, { refuse: true })).status).toBe(200);
    expect(await reach(id, 'expired')).toMatchObject({ expiryReason: 'all_refused' });
  });
});

async function matches(capability: string): Promise<number> {
  const { body } = await api.call<{ candidates: unknown[] }>('POST', '/v1/agents/query', {
    body: { capabilities: [capability] },
  });
  return body.candidates.length;
}
