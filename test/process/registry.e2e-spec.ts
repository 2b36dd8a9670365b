import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import type { Registration } from '../support/agent-client.js';
import { type Answer, call } from '../support/call.js';
import { Given } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);
/** The clock of the second process is one hour ahead. */
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

const found = async (at: RollcallProcess, capability: string): Promise<string[]> =>
  (await ask(at, capability)).candidates.map(({ agent }) => agent.agentId);

async function leaveReasons(agentId: string): Promise<string[]> {
  const path = `/v1/events?after=0&types=agent.left&agentIds=${agentId}`;
  const { body } = await call<{ items: { data: { reason: string } }[] }>(one.url, 'GET', path, { key: KEY });
  return body.items.map(({ data }) => data.reason);
}

describe('two processes on one database', () => {
  it('S3.11 two processes each find the agents that the other has registered', async () => {
    const first = await register(one, 'first', 'cross');
    await until('the second process finds the agent', async () => (await found(two, 'cross')).includes('first'));
    const second = await register(two, 'second', 'cross');
    await until('the first process finds the agent', async () => (await found(one, 'cross')).includes('second'));
    await leave(two, first);
    await leave(one, second);
    for (const at of [one, two]) await until('no agent is found', async () => (await found(at, 'cross')).length === 0);
  });

  it('S3.4 S3.5 two processes evict a silent agent once, and keep an agent that sends heartbeats to both', async () => {
    const [silent, active] = [await register(one, 'silent', 'quiet'), await register(two, 'active', 'quiet')];
    let beats = 0;
    await until('the silent agent has left', async () => {
      expect((await beat(beats++ % 2 ? one : two, active)).status).toBe(200);
      return (await leaveReasons('silent')).length > 0;
    });
    expect(await beat(two, silent)).toMatchObject({ status: 404, body: { code: 'REGISTER_AGAIN' } });
    for (const at of [one, two])
      await until('only the active agent is found', async () => (await found(at, 'quiet')).join() === 'active');
    expect([await leaveReasons('silent'), await leaveReasons('active')]).toEqual([['evicted'], []]);
  });

  it('S3.8 both processes exclude an agent with an open circuit and return the time to retry, even with a clock that is an hour ahead', async () => {
    await Given.at(one.url, KEY).agent({ agentId: 'flaky', capabilities: ['risky'], circuit: 'open' });
    for (const at of [one, two]) {
      await until('the agent is excluded', async () => (await found(at, 'risky')).length === 0);
      const { retryAfterMs } = await ask(at, 'risky');
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(10_000);
    }
  });

  it('S3.2 B4 two processes accept one of many concurrent registrations of an agentId, and count its generations without a gap', async () => {
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
