import { CountingProxy, testDatabase, type TestDatabase } from '#rollcall/platform/testing';
import { testRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { given } from '../../testing/given.js';
import { type GivenAgent, REPORTER } from '../../testing/given-agents.js';
import type { AgentsService } from '../agents.service.js';

let database: TestDatabase;
let proxy: CountingProxy;
let registry: TestRegistry;
let agents: AgentsService;

beforeEach(async () => {
  database = await testDatabase();
  proxy = await CountingProxy.start(database.url);
  registry = await testRegistry(await database.connectAgain({ url: proxy.url, poolSize: 2 }), {
    agentQuota: { limit: 50, setting: 'quota.agents' },
  });
  agents = registry.agents;
  await register('first'); // opens the connections
});
afterEach(async () => {
  await registry.idle();
  proxy.stop();
  await database.drop();
});

async function register(agentId: string): Promise<GivenAgent> {
  const joined = await registry.given.agent({ agentId });
  await registry.idle(); // the directory reads in separate round trips
  return joined;
}

/** Counts the round trips of the work. The reads of the directory after the commit are not counted. */
async function tripsOf(work: () => Promise<unknown>): Promise<number> {
  const { roundTrips } = await proxy.count(work);
  await registry.idle();
  return roundTrips;
}

describe('D6', () => {
  it('a registration takes at most 3 round trips', async () => {
    const request = { agentId: 'new', leaseToken: null, by: 'test', facts: given.registration() };
    expect(await tripsOf(async () => await agents.register(request))).toBeLessThanOrEqual(3);
  });

  it('a registration that replaces a live one takes at most 3 round trips', async () => {
    const { leaseToken } = await register('again');
    const facts = given.registration({ budget: { totalTokens: 700_000, usedTokens: 3, source: 'reported' } });
    const request = { agentId: 'again', leaseToken, by: 'test', facts };
    expect(await tripsOf(async () => await agents.register(request))).toBeLessThanOrEqual(3);
    expect((await agents.get('again')).budget).toMatchObject({
      totalTokens: 700_000,
      usedTokens: 3,
      source: 'reported',
    });
  });

  it('an outcome takes at most 3 round trips', async () => {
    const report = async (ok: boolean): Promise<unknown> =>
      await registry.circuits.report('first', { ok, latencyMs: 5 }, REPORTER);
    expect(await tripsOf(async () => await report(true))).toBeLessThanOrEqual(3);
    for (let failures = 0; failures < 5; failures++)
      expect(await tripsOf(async () => await report(false))).toBeLessThanOrEqual(3);
    expect((await agents.get('first')).health.circuitBreakerState).toBe('open');
  });

  it('a batch of a hundred registrations takes at most 3 round trips', async () => {
    const request = (id: number) => ({
      agentId: `many-${id}`,
      leaseToken: null,
      by: `owner-${id}`,
      facts: given.registration(),
    });
    const requests = Array.from({ length: 100 }, (_, id) => request(id));
    expect(await tripsOf(async () => await agents.registerAll(requests))).toBeLessThanOrEqual(3);
  });

  it('an update takes at most 3 round trips', async () => {
    const { credential } = await register('changing');
    expect(await tripsOf(async () => await agents.update(credential, { version: '2' }))).toBeLessThanOrEqual(3);
  });
});
