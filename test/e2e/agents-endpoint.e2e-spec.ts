import type { LookupAddress } from 'node:dns';
import { EndpointCheck } from '#rollcall/providers';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

type Resolved = (error: Error | null, found: LookupAddress[]) => void;

let api: TestApi;
/** The pending lookups. The test completes them with `resolveTo`. */
let waiting: Resolved[];

beforeEach(async () => {
  api = await startApi();
  waiting = [];
  Object.assign(endpointCheck(), {
    timeoutMs: 60_000,
    resolve: (_host: string, _options: unknown, done: Resolved) => void waiting.push(done),
  });
});
afterEach(async () => await api.stop());

const endpointCheck = (): EndpointCheck => api.app.nest.get(EndpointCheck, { strict: false });

const body = { agentId: 'builder-1', name: 'builder', capabilities: ['build'], endpoint: 'https://builder.example' };

/** Completes the oldest lookup. */
function resolveTo(address: string): void {
  waiting.shift()?.(null, [{ address, family: 4 }]);
}

/** Expects that no transaction of the application is open while a lookup is pending. */
async function expectNoTransactionDuringLookup(): Promise<void> {
  await until('a lookup is pending', () => waiting.length > 0);
  await until('no transaction is open', async () => {
    const open = await api.database.db.query(`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`);
    return open.length === 0;
  });
}

async function register(headers: Record<string, string> = {}): Promise<Answer> {
  const answer = api.call('POST', '/v1/agents', { body, headers });
  await until('a lookup is pending', () => waiting.length > 0);
  resolveTo('93.184.215.14');
  return await answer;
}

describe('the endpoint of an agent', () => {
  it('resolves an endpoint before the transaction of a registration with an Idempotency-Key begins', async () => {
    const answer = api.call('POST', '/v1/agents', { body, headers: { 'idempotency-key': 'k-1' } });
    await expectNoTransactionDuringLookup();
    resolveTo('93.184.215.14');
    expect(await answer).toMatchObject({ status: 201, body: { agentId: 'builder-1' } });
  });

  it('resolves an endpoint before the transaction of an update by an operator begins', async () => {
    await register();
    const endpoint = 'https://other.example';
    const answer = api.call('PATCH', '/v1/agents/builder-1', { body: { endpoint } });
    await expectNoTransactionDuringLookup();
    resolveTo('93.184.215.14');
    expect(await answer).toMatchObject({ status: 200, body: { endpoint } });
    const audit = await api.call<{ items: unknown[] }>('GET', '/v1/audit?action=agent.updated');
    expect(audit.body.items).toMatchObject([{ target: 'builder-1', details: { endpoint } }]);
  });

  it('rejects an endpoint that resolves to a forbidden address, and stores neither the agent nor the Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'k-2' };
    const denied = api.call('POST', '/v1/agents', { body, headers });
    await until('a lookup is pending', () => waiting.length > 0);
    resolveTo('10.0.0.7');
    expect(await denied).toMatchObject({ status: 400, body: { code: 'EGRESS_DENIED' } });
    expect((await api.call('GET', '/v1/agents/builder-1')).status).toBe(404);
    expect((await register(headers)).status).toBe(201);
  });

  it('ignores the endpoint of a repeated request, which returns the first answer', async () => {
    const headers = { 'idempotency-key': 'k-3' };
    const first = await register(headers);
    const again = api.call('POST', '/v1/agents', { body, headers });
    await until('a lookup is pending', () => waiting.length > 0);
    resolveTo('10.0.0.7');
    const { status, headers: answered, body: repeated } = await again;
    expect([status, answered.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(repeated).toEqual(first.body);
  });

  it('does not resolve an endpoint for a caller that may not update the agent', async () => {
    const { leaseToken } = (await register()).body as { leaseToken: string };
    const late = { generation: 7, endpoint: 'https://other.example' };
    const answer = await api.call('PATCH', '/v1/agents/builder-1', { key: leaseToken, body: late });
    expect(answer).toMatchObject({ status: 409, body: { code: 'GENERATION_AHEAD' } });
    expect(waiting).toEqual([]);
  });

  it('rejects the registrations of a batch whose host names are not checked in time, and registers the others', async () => {
    Object.assign(endpointCheck(), { timeoutMs: 20, totalTimeoutMs: 1 });
    const agent = (agentId: string, endpoint = `https://${agentId}.example`): object => ({
      ...body,
      agentId,
      endpoint,
    });
    const agents = [
      ...['slow-1', 'slow-2', 'late-1', 'late-2'].map((id) => agent(id)),
      agent('local', 'http://127.0.0.1:5091'),
    ];
    const answer = await api.call<{ results: unknown[] }>('POST', '/v1/agents/batch', {
      body: { agents },
    });
    const late = { status: 503, problem: { code: 'ENDPOINT_NOT_CHECKED' } };
    expect(answer.status).toBe(200);
    expect(answer.body.results).toMatchObject([{ status: 201 }, { status: 201 }, late, late, { status: 201 }]);
  });
});
