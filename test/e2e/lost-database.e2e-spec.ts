import { type CuttableProxy, proxyPostgres } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { AgentClient, type Registration, pathOf } from '../support/agent-client.js';
import { SHORT_DATABASE_TIMEOUT, startApi, type TestApi } from '../support/api.js';
import { EventClient } from '../support/event-client.js';
import { refusal } from '../support/socket-client.js';
import { joined, seqOf, appendEvents } from '../support/events.js';

let healthy: TestApi;
/** A replica that connects to the same database through a proxy, which the tests cut. */
let replica: TestApi;
let proxy: CuttableProxy;

beforeEach(async () => {
  healthy = await startApi({ ...SHORT_DATABASE_TIMEOUT, ROLLCALL_HEARTBEAT_EVERY: '2s' });
  const proxied = await proxyPostgres(healthy.database.url);
  ({ proxy } = proxied);
  replica = await healthy.replica({}, { databaseUrl: proxied.url });
});
afterEach(async () => {
  proxy.heal();
  await replica.stop();
  await healthy.stop();
  await proxy.stop();
});

const register = async (agentId: string): Promise<Registration> => await healthy.given.agent({ agentId });

const faults: ['cut' | 'stall'][] = [['cut'], ['stall']];

describe('the agent sockets of a replica that lost its database', () => {
  it.each(faults)(
    'D3 closes agent sockets with 1013 after a failed heartbeat, and the agents continue on another replica (%s)',
    async (fault) => {
      const registrations = await Promise.all(['a-1', 'a-2', 'a-3'].map(register));
      const agents = await Promise.all(
        registrations.map(async (registration) => await AgentClient.connect(replica.url, registration)),
      );
      for (const agent of agents) await agent.received('welcome');
      proxy[fault]();
      agents[0]?.send('beat');
      const reason = { code: 'DATABASE_UNAVAILABLE' };
      for (const agent of agents) expect(await agent.closed()).toEqual({ code: 1013, reason });
      expect(await agents[0]?.received('error')).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      expect(await agents[1]?.received('end')).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      const again = await AgentClient.connect(healthy.url, registrations[1]);
      again.send('beat');
      await again.received('beaten');
      again.socket.close();
    },
  );
});

describe('a replica that lost its database', () => {
  it.each(faults)('D3 refuses new sockets with 503 (%s)', async (fault) => {
    const registration = await register('a-1');
    await EventClient.connect(replica.url, { key: replica.adminKey }).then(({ socket }) => socket.close());
    proxy[fault]();
    const refused = { status: 503, code: 'DATABASE_UNAVAILABLE' };
    expect(await refusal(replica.url, '/v1/events/ws', { key: replica.adminKey })).toEqual(refused);
    expect(await refusal(replica.url, pathOf(registration), { key: registration.leaseToken })).toEqual(refused);
  });

  it('D3 closes the HTTP connection of a heartbeat that it cannot store, so that the next request may reach another replica', async () => {
    const { agentId, generation, leaseToken } = await register('a-1');
    const path = `/v1/agents/${agentId}/heartbeat`;
    const beat = { key: leaseToken, body: { generation } };
    expect((await replica.call('POST', path, beat)).headers.get('connection')).toBe('keep-alive');
    proxy.cut();
    const answer = await replica.call('POST', path, beat);
    expect(answer).toMatchObject({ status: 503, body: { code: 'DATABASE_UNAVAILABLE' } });
    expect(answer.headers.get('connection')).toBe('close');
  });

  it('D2 closes a socket with 1013 when the subscription cannot be started', async () => {
    const client = await EventClient.connect(replica.url, { key: replica.adminKey });
    proxy.cut();
    client.send('subscribe', { after: 'oldest' });
    expect(await client.closed()).toEqual({ code: 1013, reason: { code: 'DATABASE_UNAVAILABLE' } });
    expect(client.frames.at(-1)).toMatchObject({ event: 'error', data: { code: 'DATABASE_UNAVAILABLE', status: 503 } });
  });
});

describe('event consumers of a replica that lost its database', () => {
  it('D3 closes event sockets with 1013 and their cursor, and the consumers continue on another replica', async () => {
    const client = await (await EventClient.connect(replica.url, { key: replica.adminKey })).subscribe();
    await appendEvents(healthy, joined('a-1'));
    await until('the event is received', () => client.seqs.length === 1);
    proxy.cut();
    await until('the socket is closed', () => client.end !== undefined);
    expect(client.end).toEqual({
      code: 1013,
      reason: { code: 'DATABASE_UNAVAILABLE', after: expect.stringMatching(/^1-/) as string },
    });
    await appendEvents(healthy, joined('a-2'));
    const again = await EventClient.connect(healthy.url, { key: healthy.adminKey });
    await again.subscribe({ after: client.end?.reason['after'] });
    await until('the next event is received', () => again.seqs.length === 1);
    expect(again.seqs).toEqual([2]);
    again.socket.close();
  });

  it('D3 event consumers receive an `end` event over server-sent events, and 503 for a long poll', async () => {
    await appendEvents(healthy, joined('a-1'));
    await until(
      'the event is in the log',
      async () => seqOf((await replica.call('GET', '/v1/events?after=latest')).body['head']) === '1',
    );
    const headers = { authorization: `Bearer ${replica.adminKey}` };
    const stream = await fetch(`${replica.url}/v1/events/stream?after=1`, { headers });
    const page = replica.call('GET', '/v1/events?after=1&waitMs=50000');
    const text = stream.text();
    proxy.cut();
    expect(await page).toMatchObject({ status: 503, body: { code: 'DATABASE_UNAVAILABLE' } });
    expect(await text).toMatch(/event: end\ndata: {"code":"DATABASE_UNAVAILABLE","after":"1-[0-9a-f]{8}",/);
  });
});
