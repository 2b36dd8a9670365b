import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '#rollcall/test-support';
import { AgentClient } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { GivenAgent } from '../support/given.js';

let api: TestApi;
let server: Server;
const received: string[] = [];
let status = 500;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1' });
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push(String((JSON.parse(Buffer.concat(chunks).toString()) as { type: unknown }).type));
      response.writeHead(status).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  await api.stop();
  server.close();
});

const announce = async (capability: string): Promise<string> => {
  const body = { capabilities: [capability], task: 'Build it.', bidWithinMs: 60_000, confirmWithinMs: 60_000 };
  return String((await api.call('POST', '/v1/contracts', { body })).body['id']);
};
const bid = async (id: string, { agentId, generation, leaseToken: key }: GivenAgent): Promise<void> => {
  const body = { agentId, generation, price: 5, etaMs: 1_000, confidence: 1 };
  expect((await api.call('POST', `/v1/contracts/${id}/bids`, { key, body })).status).toBe(200);
};
const actions = (socket: AgentClient): unknown[] => socket.of('control').map(({ action }) => action);

describe('notices of the contract net (S3.9)', () => {
  it('S3.9 a bidder that registers again during the auction and connects receives the invitation again', async () => {
    const first = await api.given.agent({ agentId: 'returning', capabilities: ['return'] });
    await api.given.agent({ agentId: 'silent', capabilities: ['return'] }); // keeps the auction open
    const id = await announce('return');
    await bid(id, first);
    const second = await api.given.agent({ agentId: 'returning', capabilities: ['return'], takeover: true });
    const socket = await AgentClient.connect(api.url, second);
    await until('the invitation is received', () => actions(socket).includes('bid'));
    await bid(id, second);
    const again = await AgentClient.connect(api.url, second);
    await announce('return');
    await until('the next invitation is received', () => actions(again).length > 0);
    expect(again.of('control').map(({ contractId }) => contractId)).not.toContain(id);
  });

  it('S3.9 an invitation that could not be delivered is not repeated after the contract has ended', async () => {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
    const agent = await api.given.agent({ agentId: 'posted', capabilities: ['post'], endpoint });
    const id = await announce('post');
    await until('the first attempt has failed', () => received.length === 1);
    await bid(id, agent);
    await until('the award is attempted', () => received.includes('contract.award'));
    await api.call('POST', `/v1/contracts/${id}/cancel`, { body: {} });
    await until('the loss is attempted', () => received.includes('contract.lost'));
    status = 204;
    received.length = 0;
    const { db } = api.database;
    await until('no notice is left', async () => {
      await db.query('UPDATE contract_notice SET due_at = clock_timestamp() WHERE attempts > 0');
      return (await db.query('SELECT 1 FROM contract_notice')).length === 0;
    });
    expect(new Set(received)).toEqual(new Set(['contract.lost']));
  });
});
