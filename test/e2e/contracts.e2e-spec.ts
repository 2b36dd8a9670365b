import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Delegation } from '#rollcall/agent-runtime';
import { AgentProviderRegistry } from '#rollcall/providers';
import { until } from '#rollcall/test-support';
import { BUILDERS, BuilderProvider } from '../../examples/contract-net/builders.js';
import { AgentClient } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
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
  other.app.nest.get(AgentProviderRegistry, { strict: false }).register(builders);
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
      expect(await socket.received('control')).toMatchObject({
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
    expect(await sockets[0]?.received('control', 2)).toMatchObject({ action: 'award', contractId: id });
    expect(await answer(id, 'confirm', loser)).toMatchObject({ status: 409, body: { code: 'CONTRACT_NOT_AWARDED' } });
    expect(await answer(id, 'confirm', winner)).toMatchObject({ status: 200, body: { state: 'confirmed' } });
    expect(await sockets[1]?.received('control', 2)).toMatchObject({ action: 'lost', contractId: id });
    expect(await answer(id, 'bids', loser, terms(1))).toMatchObject({ status: 409, body: { code: 'BID_LATE' } });
    expect((await get(id, viewer)).bids.map(({ agentId, rank }) => [agentId, rank])).toEqual([
      ['ws-1', 1],
      ['ws-2', 2],
    ]);
    const done = await api.call('POST', `/v1/contracts/${id}/outcome`, { body: { ok: true, microUsd: 120, ms: 900 } });
    expect(done).toMatchObject({ status: 200, body: { outcome: { ok: true, microUsd: 120, ms: 900 } } });
  });

  it('S3.9 posts invitations, awards and losses to endpoints through the guarded egress', async () => {
    const received: Record<string, unknown>[] = [];
    const server = await endpoint((notice) => received.push(notice));
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

  it('S3.9 the example: three hosted agents of different price and speed bid, and the weights decide', async () => {
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
    expect(contract).toMatchObject({ winner: 'thrifty', outcome: { ok: true } });
    expect((await api.call('GET', `/v1/runs/${String(contract['runId'])}`)).body).toMatchObject({
      state: 'completed',
      agentId: 'thrifty',
      result: { parts: [{ type: 'text', text: 'thrifty built it.' }] },
    });
    expect(contract.transcript.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['run_started', 'outcome']));
    const { body } = await api.call('GET', '/v1/budgets/reconciliation');
    expect(body).toMatchObject({ discrepancies: [] });
    const viewer = await api.given.key('viewer');
    const query = { capabilities: ['example.build'], prefer: 'contract-net' };
    expect((await api.call('POST', '/v1/agents/query', { key: viewer, body: query })).status).toBe(403);
  });

  it('S3.9 a query with contract-net returns the bidders, and the winner first, within its time', async () => {
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

  it('S3.9 rejects incomplete bids, unknown scoring rules and unusable weights, and lists contracts by state', async () => {
    const agent = await api.given.agent({ agentId: 'lone', capabilities: ['lone'] });
    const { id } = await announce({ capabilities: ['lone'], bidWithinMs: 60_000 });
    const invalid = [{ price: 1 }, { refuse: true, price: 1 }, { ...terms(1), confidence: 2 }, terms(-1)];
    for (const body of invalid)
      expect(await answer(id, 'bids', agent, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    const base = { capabilities: ['lone'], task: 'x' };
    for (const body of [{ scoring: 'dice' }, { weights: { price: 0, eta: 0, confidence: 0, reliability: 0 } }])
      expect(await api.call('POST', '/v1/contracts', { body: { ...base, ...body } })).toMatchObject({
        status: 400,
        body: { code: 'CONTRACT_INVALID' },
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

/** An endpoint of an agent that accepts notices. It records those that it can parse. */
async function endpoint(accept: (notice: Record<string, unknown>) => void): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const isNotice = request.headers['content-type'] === 'application/vnd.rollcall.contract+json';
      if (isNotice) accept(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
      response.writeHead(isNotice ? 204 : 200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
