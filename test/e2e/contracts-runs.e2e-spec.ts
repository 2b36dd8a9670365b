import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Delegation } from '#rollcall/agent-runtime';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import type { GivenAgent } from '../support/given.js';

interface ContractBody {
  id: string;
  state: string;
  runId: string | null;
  outcome: Record<string, unknown> | null;
  [field: string]: unknown;
}

const COST = 900;

let api: TestApi;
let server: Server;
/** The endpoint of all agents. It does each task at once. */
let endpoint: string;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_QUOTAS: 'budgetShare=0' });
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      const usage = { inputTokens: 10, outputTokens: 5, costMicroUsd: COST };
      const body = JSON.stringify({ type: 'result', text: 'done', usage, outcome: 'completed' });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
});
afterAll(async () => {
  await api.stop();
  server.close();
});

const get = async (id: string): Promise<ContractBody> =>
  (await api.call<ContractBody>('GET', `/v1/contracts/${id}`)).body;
const answer = async (id: string, what: string, agent: GivenAgent, body: object = {}): Promise<Answer> => {
  const { agentId, generation, leaseToken: key } = agent;
  return await api.call('POST', `/v1/contracts/${id}/${what}`, { key, body: { agentId, generation, ...body } });
};
/** Announces a contract with a run. The agent bids and gets the award. */
const award = async (agent: GivenAgent, capability: string, price: number): Promise<string> => {
  const body = { capabilities: [capability], task: 'Build it.', run: true };
  const { id } = (await api.call<ContractBody>('POST', '/v1/contracts', { body })).body;
  expect((await answer(id, 'bids', agent, { price, etaMs: 1_000, confidence: 1 })).status).toBe(200);
  await until('the contract is awarded', async () => (await get(id)).state === 'awarded');
  return id;
};
const outcome = async (id: string): Promise<ContractBody> => {
  await until('the outcome is recorded', async () => (await get(id)).outcome !== null);
  return await get(id);
};

describe('contracts with run over HTTP (S3.9)', () => {
  it('S3.9 a run can spend the budget of its agent even if the award has reserved all of it', async () => {
    await api.given.budget({ kind: 'agent', subject: 'exact', limit: { microUsd: 1_000 } });
    const agent = await api.given.agent({ agentId: 'exact', capabilities: ['exact'], endpoint });
    const id = await award(agent, 'exact', 1_000);
    expect((await answer(id, 'confirm', agent)).status).toBe(200);
    expect(await outcome(id)).toMatchObject({
      runId: expect.any(String),
      outcome: { ok: true, reason: null, microUsd: COST },
    });
    const { body } = await api.call('GET', '/v1/budgets/reconciliation');
    expect(body).toMatchObject({ discrepancies: [] });
  });

  it('S3.9 the run reports the outcome of a contract with run, and a report of the announcer is rejected', async () => {
    const agent = await api.given.agent({ agentId: 'runner', capabilities: ['runner'], endpoint });
    const id = await award(agent, 'runner', 5_000);
    const report = async (): Promise<Answer> =>
      await api.call('POST', `/v1/contracts/${id}/outcome`, { body: { ok: true, microUsd: 1 } });
    const rejection = {
      status: 409,
      body: { code: 'CONTRACT_CLOSED', detail: expect.stringContaining('the run reports the outcome') },
    };
    expect(await report()).toMatchObject(rejection);
    const [confirmed, reported] = await Promise.all([answer(id, 'confirm', agent), report()]);
    expect([confirmed.status, reported.status]).toEqual([200, 409]);
    expect(await outcome(id)).toMatchObject({ runId: expect.any(String), outcome: { ok: true, microUsd: COST } });
    expect(await report()).toMatchObject(rejection);
  });

  it('S3.9 a contract whose run cannot be read does not delay the outcomes of later contracts', async () => {
    const agent = await api.given.agent({ agentId: 'steady', capabilities: ['steady'], endpoint });
    const confirmed = async (): Promise<string> => {
      const id = await award(agent, 'steady', 5_000);
      expect((await answer(id, 'confirm', agent)).status).toBe(200);
      return id;
    };
    const broken = await confirmed();
    await outcome(broken);
    await api.database.db.query("UPDATE contract SET run_id = 'missing', outcome = NULL WHERE id = $1", [broken]);
    expect(await outcome(await confirmed())).toMatchObject({ outcome: { ok: true, microUsd: COST } });
    expect(await get(broken)).toMatchObject({ state: 'confirmed', outcome: null });
  });

  it('S3.9 a delegation that is cancelled during its auction cancels the contract', async () => {
    await api.given.agent({ agentId: 'slow', capabilities: ['slow'], endpoint });
    const { targets } = api.app.nest.get(Delegation, { strict: false }).services;
    const place = { namespace: 'default', rootRunId: 'root', runId: 'root', agentName: 'planner', depth: 0 };
    const run = { ...place, ancestry: [], deadline: null, limits: { maxDepth: 2, maxWidth: 2, maxRuns: 2 } };
    const cancellation = new AbortController();
    const wanted = { capabilities: ['slow'], prefer: 'contract-net', task: 'Wait.', waitMs: 60_000 };
    const target = targets?.open({ ...wanted, signal: cancellation.signal }, run);
    const newest = async (): Promise<ContractBody | undefined> =>
      (await api.call<{ items: ContractBody[] }>('GET', '/v1/contracts?limit=1')).body.items[0];
    await until('the contract is announced', async () => (await newest())?.['task'] === 'Wait.');
    cancellation.abort();
    await expect(target).rejects.toMatchObject({ code: 'DELEGATION_TARGET_UNKNOWN' });
    expect(await newest()).toMatchObject({ task: 'Wait.', state: 'cancelled' });
  });
});
