import { request } from 'node:http';
import { once } from 'node:events';
import { until } from '#rollcall/test-support';
import type { CloudEvent } from '#rollcall/platform';
import { startApi, type TestApi } from '../support/api.js';
import { seqOf } from '../support/events.js';
import { registrationBody } from '../support/given.js';
import { EventClient } from '../support/event-client.js';

interface Snapshot {
  sequence: string;
  cursor: string;
  items: { agentId: string; generation: number }[];
  count: number;
}

let api: TestApi;
beforeEach(async () => void (api = await startApi()));
afterEach(async () => await api.stop());

const readSnapshot = async (): Promise<Snapshot> => (await api.call<Snapshot>('GET', '/v1/events/snapshot')).body;
const register = async (agentId: string, at = api): Promise<number> =>
  (await at.call('POST', '/v1/agents', { body: registrationBody({ agentId }) })).status;
const evict = async (agentId: string, at = api): Promise<number> =>
  (await at.call('POST', `/v1/agents/${agentId}/evict`)).status;

function apply(fleet: Map<string, number>, { type, subject, data }: CloudEvent): void {
  if (type === 'dev.rollcall.agent.joined' && 'generation' in data) fleet.set(subject, data.generation);
  if (type === 'dev.rollcall.agent.left') fleet.delete(subject);
}

describe('GET /v1/events/snapshot', () => {
  it('B3 the snapshot and the events after it give the current fleet, even when the snapshot is read during changes', async () => {
    const other = await api.replica();
    const done = new AbortController();
    const writers = [api, other, api, other].map(async (at, index) => {
      for (let count = index; !done.signal.aborted; count++) {
        const agentId = `a-${count % 20}`;
        if ((await register(agentId, at)) !== 201) await evict(agentId, at);
      }
    });
    await until('the fleet has more than 5 agents', async () => (await readSnapshot()).count > 5);
    const snapshots = [await readSnapshot(), await readSnapshot(), await readSnapshot()];
    const clients = await Promise.all(
      snapshots.map(async ({ sequence }) => {
        const client = await EventClient.connect(other.url, { key: api.adminKey });
        return await client.subscribe({ after: sequence });
      }),
    );
    await until('every client has received 50 events', () => clients.every(({ events }) => events.length > 50));
    done.abort();
    await Promise.all(writers);
    const final = await readSnapshot();
    for (const [index, client] of clients.entries()) {
      await until('the client has received all events', () => client.seqs.at(-1) === Number(final.sequence));
      const fleet = new Map(snapshots[index]?.items.map(({ agentId, generation }) => [agentId, generation]));
      for (const event of client.events) apply(fleet, event);
      expect(fleet).toEqual(new Map(final.items.map(({ agentId, generation }) => [agentId, generation])));
      client.socket.terminate();
    }
    await other.stop();
  });

  it('the error CURSOR_EXPIRED has the path of the snapshot, and the feed continues from the cursor of the snapshot', async () => {
    await api.given.agent({ agentId: 'a-1' });
    await until(
      'the event is in the log',
      async () => seqOf((await api.call('GET', '/v1/events')).body['head']) === '1',
    );
    await api.database.db.query('DELETE FROM event_log');
    const refused = await api.call('GET', '/v1/events?after=0');
    expect(refused).toMatchObject({ status: 410, body: { code: 'CURSOR_EXPIRED' } });
    const { body } = await api.call<Snapshot>('GET', String(refused.body['snapshot']));
    expect(body).toMatchObject({ sequence: '1', items: [{ agentId: 'a-1', status: 'active' }], count: 1 });
    expect((await api.call('GET', `/v1/events?after=${body.cursor}`)).status).toBe(200);
  });

  it('the snapshot of an empty registry is empty, and the response to HEAD has no body', async () => {
    const cursor = expect.stringMatching(/^0-[0-9a-f]{8}$/) as string;
    expect(await readSnapshot()).toEqual({ sequence: '0', cursor, items: [], count: 0 });
    const headers = { authorization: `Bearer ${api.adminKey}` };
    const head = await fetch(`${api.url}/v1/events/snapshot`, { method: 'HEAD', headers });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('a snapshot releases its database connection when the client does not read it to the end', async () => {
    await api.given.agent({ agentId: 'a-1' });
    const headers = { authorization: `Bearer ${api.adminKey}` };
    for (let round = 0; round < 10; round++) {
      const call = request(`${api.url}/v1/events/snapshot`, { agent: false, headers });
      call.on('error', () => undefined); // `destroy` causes this error
      call.end();
      if (round % 2) await once(call, 'response');
      call.destroy();
    }
    await until('no snapshot connection is open', async () => {
      const open = await api.database.db.query(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = 'rollcall-snapshot' AND datname = current_database()`,
      );
      return open.length === 0;
    });
    expect(await readSnapshot()).toMatchObject({ count: 1 });
  });
});
