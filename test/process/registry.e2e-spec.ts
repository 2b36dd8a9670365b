import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import type { Registration } from '../support/agent-client.js';
import { type Answer, call } from '../support/call.js';
import { Given } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);
/** The second process believes it is an hour later than it is. */
const AN_HOUR_AHEAD = 'const now = Date.now; Date.now = () => now() + 3600000;';

let folder: string;
let url: string;
let one: RollcallProcess;
let two: RollcallProcess;

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  const skew = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(AN_HOUR_AHEAD)}` };
  [one, two] = await Promise.all([start().ready(), start(skew).ready()]);
});
afterAll(async () => {
  await Promise.all([one.end(), two.end()]);
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(environment: Record<string, string> = {}): RollcallProcess {
  return new RollcallProcess({
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_HEARTBEAT_EVERY: '2s',
    ...environment,
  });
}

async function register(at: RollcallProcess, agentId: string, capability: string): Promise<Registration> {
  return await Given.at(at.url, KEY).agent({ agentId, capabilities: [capability] });
}

async function beat(at: RollcallProcess, { agentId, generation, leaseToken }: Registration): Promise<Answer> {
  const body = { generation };
  return await call(at.url, 'POST', `/v1/agents/${agentId}/heartbeat`, { key: leaseToken, body });
}

async function leave(at: RollcallProcess, { agentId, generation, leaseToken }: Registration): Promise<void> {
  const path = `/v1/agents/${agentId}?generation=${generation}`;
  expect((await call(at.url, 'DELETE', path, { key: leaseToken })).status).toBe(204);
}

interface Ranking {
  candidates: { agent: { agentId: string } }[];
  retryAfterMs: number | null;
}

async function ask(at: RollcallProcess, capability: string): Promise<Ranking> {
  const body = { capabilities: [capability] };
  return (await call<Ranking>(at.url, 'POST', '/v1/agents/query', { key: KEY, body })).body;
}

const listed = async (at: RollcallProcess, capability: string): Promise<string[]> =>
  (await ask(at, capability)).candidates.map(({ agent }) => agent.agentId);

async function leavings(agentId: string): Promise<string[]> {
  const path = `/v1/events?after=0&types=agent.left&agentIds=${agentId}`;
  const { body } = await call<{ items: { data: { reason: string } }[] }>(one.url, 'GET', path, { key: KEY });
  return body.items.map(({ data }) => data.reason);
}

describe('two processes on one database', () => {
  it('S3.11 an agent registered through either is found through the other', async () => {
    const first = await register(one, 'first', 'cross');
    await until('two lists it', async () => (await listed(two, 'cross')).includes('first'));
    const second = await register(two, 'second', 'cross');
    await until('one lists it', async () => (await listed(one, 'cross')).includes('second'));
    await leave(two, first);
    await leave(one, second);
    for (const at of [one, two]) await until('nobody is listed', async () => (await listed(at, 'cross')).length === 0);
  });

  it('S3.4 S3.5 a silent agent is evicted by one of them, once, and one that beats through both stays', async () => {
    const [silent, loud] = [await register(one, 'silent', 'quiet'), await register(two, 'loud', 'quiet')];
    let beats = 0;
    await until('the silent one has left', async () => {
      expect((await beat(beats++ % 2 ? one : two, loud)).status).toBe(200);
      return (await leavings('silent')).length > 0;
    });
    expect(await beat(two, silent)).toMatchObject({ status: 404, body: { code: 'REGISTER_AGAIN' } });
    for (const at of [one, two])
      await until('it is no longer listed', async () => (await listed(at, 'quiet')).join() === 'loud');
    expect([await leavings('silent'), await leavings('loud')]).toEqual([['evicted'], []]);
  });

  it('S3.8 an open circuit is open on both, also where the clock is an hour ahead, and both say when to come back', async () => {
    await Given.at(one.url, KEY).agent({ agentId: 'flaky', capabilities: ['risky'], circuit: 'open' });
    for (const at of [one, two]) {
      await until('it is left out', async () => (await listed(at, 'risky')).length === 0);
      const { retryAfterMs } = await ask(at, 'risky');
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(10_000);
    }
  });

  it('S3.2 B4 one agentId registered through both at once has one winner, and its lives count without a gap', async () => {
    const body = { agentId: 'wanted', name: 'wanted', capabilities: ['race'] };
    const tries = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const at = index % 2 ? one : two;
        return await call<Registration & Record<string, unknown>>(at.url, 'POST', '/v1/agents', { key: KEY, body });
      }),
    );
    const winners = tries.filter(({ status }) => status === 201).map(({ body: agent }) => agent);
    expect(winners.map(({ generation }) => generation)).toEqual([1]);
    expect(tries.filter(({ status }) => status === 409)).toHaveLength(19);
    const again = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const at = index % 2 ? one : two;
        return await call<Registration & Record<string, unknown>>(at.url, 'POST', '/v1/agents', {
          key: KEY,
          body: { ...body, leaseToken: winners[0]?.leaseToken },
        });
      }),
    );
    const generations = again.map(({ body: agent }) => agent.generation).toSorted((a, b) => a - b);
    expect(generations).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });
});
