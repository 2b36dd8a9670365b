import { Database, joinSchemas, Loop, migrate, PLATFORM_SCHEMA } from '#rollcall/platform';
import { FreezablePostgres, readAll } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { REGISTRY_SCHEMA } from '../schema.js';
import { testRegistry, type TestRegistry } from '../testing/test-registry.js';
import { DEFAULT_LEASE_POLICY, leaseTtlMs } from './lease.policy.js';
import type { Heartbeat } from './lease.store.js';
import { DEFAULT_PROTECTION_POLICY } from './protection.state.js';

const SCHEMA = joinSchemas(PLATFORM_SCHEMA, REGISTRY_SCHEMA);
/** Short leases, so that a freeze spans many of them; and no self-preservation, which would hide the tested behaviour. */
const lease = { ...DEFAULT_LEASE_POLICY, intervalMs: 1_000, graceMs: 400 };
const protection = { ...DEFAULT_PROTECTION_POLICY, threshold: 1, sweepEveryMs: 100, toleranceMs: 300 };
const FLEET = 40;

let postgres: FreezablePostgres;
let registry: TestRegistry;
let database: Database;
let beating: Heartbeat[];
let sweeps = 0;
let failures = 0;
/** Set before a freeze, so that no heartbeat waits in a frozen connection and arrives before the first sweep after the freeze. */
let heartbeatsPaused = false;
const loops: Loop[] = [];

beforeAll(async () => {
  postgres = await FreezablePostgres.start();
  const options = { url: postgres.url, poolSize: 10, operationTimeoutMs: 600 };
  await migrate(options, SCHEMA);
  database = new Database(options);
  registry = await testRegistry(database, { lease, protection });
  const ids = Array.from({ length: FLEET }, (_, index) => `agent-${index}`);
  const agents = await Promise.all(ids.map(async (agentId) => await registry.given.agent({ agentId })));
  beating = agents.map(({ credential }) => credential);
  const onError = (): void => void (failures += 1);
  const sweep = async (): Promise<void> => {
    await registry.sweeper.sweep();
    sweeps += 1;
  };
  const beat = async (): Promise<unknown> => heartbeatsPaused || (await registry.heartbeats.beatAll(beating));
  loops.push(new Loop({ pass: sweep, everyMs: () => protection.sweepEveryMs, onError }));
  loops.push(new Loop({ pass: beat, everyMs: () => lease.intervalMs / 4, onError }));
  for (const loop of loops) loop.start();
});
afterAll(async () => {
  postgres.thaw();
  await Promise.all(loops.map(async (loop) => await loop.stop()));
  await database.close();
  await postgres.stop();
});

async function leftAgents(): Promise<string[]> {
  while ((await registry.events.sequencer.runOnce()).moved > 0);
  return (await readAll(registry.events)).filter(({ type }) => type === 'agent.left').map(({ subject }) => subject);
}

async function waitForSweeps(count: number): Promise<void> {
  const before = sweeps;
  await until(`${count} more sweeps have run`, () => sweeps >= before + count);
}

describe('a Postgres that freezes under a live fleet', () => {
  it('S3.5 B5 no live agent is evicted after Postgres was frozen for many leases, and a silent agent is evicted as before', async () => {
    await waitForSweeps(3);
    heartbeatsPaused = true;
    await registry.heartbeats.idle();
    const frozenAt = performance.now();
    const failuresBefore = failures;
    postgres.freeze();
    await until('the freeze has outlasted five leases', () => performance.now() - frozenAt > 5 * leaseTtlMs(lease));
    expect(failures).toBeGreaterThan(failuresBefore);
    postgres.thaw();
    await waitForSweeps(2);
    heartbeatsPaused = false;
    await waitForSweeps(60);
    expect(await leftAgents()).toEqual([]);
    const active = async () =>
      await registry.agents.list(FLEET + 1, undefined, { namespace: 'default', status: 'active' });
    await until('all agents are active', async () => (await active()).length === FLEET);
    const silent = beating.splice(0, 1).map(({ agentId }) => agentId);
    await until('the silent agent is evicted', async () => (await leftAgents()).length > 0);
    expect(await leftAgents()).toEqual(silent);
  });
});
