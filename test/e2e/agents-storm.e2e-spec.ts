import { Agent, fetch } from 'undici';
import type { Database } from '#rollcall/platform';
import { hashOfToken } from '#rollcall/registry';
import { startApi, type TestApi } from '../support/api.js';

const FLEET = 10_000;
const CONNECTIONS = 256;
const MAX_TRIES = 10;

let api: TestApi;
let db: Database;
let dispatcher: Agent;
let retried = 0;
beforeAll(async () => {
  api = await startApi();
  db = await api.database.connectAgain({ operationTimeoutMs: 30_000 });
  dispatcher = new Agent({ connections: CONNECTIONS });
});
afterAll(async () => {
  await dispatcher.close();
  await api.stop();
});

const idOf = (index: number): string => `storm-${index}`;
const tokenOf = (index: number): string => `rl_${String(index).padStart(43, '0')}`;

/** Inserts the rows of all registrations in one statement for each table. */
async function registerAll(): Promise<void> {
  await api.given.agent({ agentId: 'template', name: 'storm', capabilities: ['storm'] });
  const indexes = Array.from({ length: FLEET }, (_, index) => index);
  const columns = [indexes.map(idOf), indexes.map((index) => hashOfToken(tokenOf(index)))];
  for (const table of ['agent', 'agent_lease']) {
    await db.query(
      `INSERT INTO ${table} SELECT (jsonb_populate_record(t, jsonb_build_object('agent_id', f.id, 'token_hash', f.hash))).*
       FROM ${table} t, unnest($1::text[], $2::text[]) AS f (id, hash) WHERE t.agent_id = 'template'`,
      columns,
    );
    await db.query(`DELETE FROM ${table} WHERE agent_id = 'template'`);
  }
}

/** Simulates ten minutes without heartbeats and without sweeps. */
async function simulateOutage(): Promise<void> {
  await db.transaction(async () => {
    await db.query('SELECT 1 FROM registry_protection FOR UPDATE');
    await db.query(`UPDATE agent_lease SET last_beat_at = last_beat_at - interval '10 minutes'`);
    await db.query(
      `UPDATE registry_protection SET state = jsonb_set(state - 'checkedAllAt', '{lastSweepAt}',
         to_jsonb((state->>'lastSweepAt')::numeric - 600000))`,
    );
  });
}

/** Sends a heartbeat and, like an agent, retries it when the response is 429 or 503. */
async function beat(index: number): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(`${api.url}/v1/agents/${idOf(index)}/heartbeat`, {
      method: 'POST',
      dispatcher,
      headers: { authorization: `Bearer ${tokenOf(index)}`, 'content-type': 'application/json' },
      body: '{"generation":1}',
    });
    await response.text();
    if ((response.status !== 503 && response.status !== 429) || tries === MAX_TRIES) return response.status;
    retried += 1;
  }
}

describe('10,000 agents that reconnect at the same time', () => {
  it('S3.4 B5 10,000 agents renew their leases after an outage, and none is evicted', async () => {
    await registerAll();
    await simulateOutage();
    const started = performance.now();
    const statuses = await Promise.all(Array.from({ length: FLEET }, async (_, index) => await beat(index)));
    const ms = Math.round(performance.now() - started);
    process.stderr.write(`${FLEET} heartbeats on ${CONNECTIONS} connections: ${ms} ms; retries: ${retried}\n`);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const { body } = await api.call<{ items: unknown[] }>('GET', '/v1/events?after=0&types=agent.left');
    expect(body.items).toEqual([]);
    expect(await db.query('SELECT count(*)::int AS live FROM agent_lease')).toEqual([{ live: FLEET }]);
  });
});
