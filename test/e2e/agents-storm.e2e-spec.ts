import { Agent, fetch } from 'undici';
import { hashOfToken } from '#rollcall/registry';
import { startApi, type TestApi } from '../support/api.js';

const FLEET = 10_000;
const CONNECTIONS = 256;

let api: TestApi;
let dispatcher: Agent;
beforeAll(async () => {
  api = await startApi();
  dispatcher = new Agent({ connections: CONNECTIONS });
});
afterAll(async () => {
  await dispatcher.close();
  await api.stop();
});

const idOf = (index: number): string => `storm-${index}`;
const tokenOf = (index: number): string => `rl_${String(index).padStart(43, '0')}`;

/** Written as registrations would have written them, only all at once. */
async function joinAll(): Promise<void> {
  const body = { agentId: 'pattern', name: 'storm', capabilities: ['storm'] };
  expect((await api.call('POST', '/v1/agents', { body })).status).toBe(201);
  const indexes = Array.from({ length: FLEET }, (_, index) => index);
  const facts = [indexes.map(idOf), indexes.map((index) => hashOfToken(tokenOf(index)))];
  for (const table of ['agent', 'agent_lease'])
    await api.database.db.query(
      `INSERT INTO ${table} SELECT (jsonb_populate_record(t, jsonb_build_object('agent_id', f.id, 'token_hash', f.hash))).*
       FROM ${table} t, unnest($1::text[], $2::text[]) AS f (id, hash) WHERE t.agent_id = 'pattern'`,
      facts,
    );
}

/** As if nobody could have been heard, and nobody could have swept, for ten minutes. */
async function outage(): Promise<void> {
  const { db } = api.database;
  await db.transaction(async () => {
    await db.query('SELECT 1 FROM registry_protection FOR UPDATE');
    await db.query(`UPDATE agent_lease SET last_beat_at = last_beat_at - interval '10 minutes'`);
    await db.query(
      `UPDATE registry_protection SET state = jsonb_set(state, '{lastSweepAt}', to_jsonb((state->>'lastSweepAt')::numeric - 600000))`,
    );
  });
}

async function beat(index: number): Promise<number> {
  const response = await fetch(`${api.url}/v1/agents/${idOf(index)}/heartbeat`, {
    method: 'POST',
    dispatcher,
    headers: { authorization: `Bearer ${tokenOf(index)}`, 'content-type': 'application/json' },
    body: '{"generation":1}',
  });
  await response.text();
  return response.status;
}

describe('10,000 agents that all come back at once', () => {
  it('S3.4 B5 are all answered after an outage, and none of them is evicted', async () => {
    await joinAll();
    await outage();
    const started = performance.now();
    const statuses = await Promise.all(Array.from({ length: FLEET }, async (_, index) => await beat(index)));
    process.stderr.write(
      `${FLEET} beats on ${CONNECTIONS} connections: ${Math.round(performance.now() - started)} ms\n`,
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    const { body } = await api.call<{ items: unknown[] }>('GET', '/v1/events?after=0&types=agent.left');
    expect(body.items).toEqual([]);
    expect((await api.call('GET', `/v1/agents/${idOf(7)}`)).body).toMatchObject({ status: 'active' });
  });
});
