import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentProviderRegistry } from '#rollcall/providers';
import { until } from '#rollcall/test-support';
import { BUILDERS, BuilderProvider } from '../../examples/contract-net/builders.js';
import { AgentClient } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
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

  it('S3.9 the bid and the confirmation of a hosted agent are repeated while the database is busy', async () => {
    await failTwice('bid', 'contract_bid', `OLD.answer IS NULL AND NEW.answer = 'bid'`);
    await failTwice('confirmation', 'contract', `OLD.state = 'awarded' AND NEW.state = 'confirmed'`);
    api.app.nest.get(AgentProviderRegistry, { strict: false }).register(new BuilderProvider());
    const content = {
      description: 'Builds.',
      provider: 'builder',
      settings: BUILDERS['swift'],
      capabilities: ['host'],
    };
    const spawned = await api.call('POST', '/v1/runtime/agents', { body: { name: 'swift', content } });
    expect(spawned.status).toBe(201);
    const id = await announce('host');
    const contract = async (): Promise<Answer> => await api.call('GET', `/v1/contracts/${id}`);
    await until('the award is confirmed', async () => (await contract()).body['state'] === 'confirmed');
    expect((await contract()).body).toMatchObject({ invited: 1, winner: 'swift' });
    const attempts = 'SELECT bid.last_value AS bids, confirmation.last_value AS confirmations FROM bid, confirmation';
    expect(await api.database.db.query(attempts)).toEqual([{ bids: '3', confirmations: '3' }]);
  });
});

/** The first two updates of the table with this condition fail, as if a lock was not granted. The sequence `name` counts the updates. */
async function failTwice(name: string, table: string, condition: string): Promise<void> {
  const { db } = api.database;
  await db.query(`CREATE SEQUENCE ${name}`);
  await db.query(
    `CREATE FUNCTION fail_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       IF nextval('${name}') <= 2 THEN RAISE EXCEPTION 'busy' USING ERRCODE = 'lock_not_available'; END IF;
       RETURN NEW;
     END $$`,
  );
  await db.query(
    `CREATE TRIGGER fail_${name} BEFORE UPDATE ON ${table} FOR EACH ROW WHEN (${condition}) EXECUTE FUNCTION fail_${name}()`,
  );
}
