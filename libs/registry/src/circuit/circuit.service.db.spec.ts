import { CountingProxy, proxyPostgres, type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { given } from '../testing/given.js';
import { AgentsService } from '../agents/agents.service.js';
import { registryModule, testRegistry, type TestRegistry } from '../testing/test-registry.js';
import { TwoReplicas } from '../testing/two-replicas.js';
import { DEFAULT_CIRCUIT_POLICY } from './circuit.breaker.js';
import { CircuitService } from './circuit.service.js';

const ADA = { id: 'key:ada', name: 'ada' };
const { failuresToOpen } = DEFAULT_CIRCUIT_POLICY;

let lost: string[];
beforeEach(() => (lost = []));
const onLost = (error: unknown): number => lost.push(String(error));

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    (probeId) => probeId,
    (error: { code: string }) => error.code,
  );
}

const endCoolDown = async ({ db }: TestDatabase): Promise<unknown> =>
  await db.query(`UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', '1')`);

describe('the admission of a call', () => {
  it('R-5 S3.8 takes no round trip while the circuit is closed, one to reject a call, and at most four to claim the probe; the outcomes of 100 calls take two', async () => {
    const database = await testDatabase();
    const proxy = await CountingProxy.start(database.url);
    const registry = await testRegistry(await database.connectAgain({ url: proxy.url, poolSize: 1 }));
    await registry.given.agent({ agentId: 'a-1' });
    const { circuits } = registry;
    const admit = async (callId: string): Promise<unknown> => await codeOf(circuits.admit('a-1', callId));
    const tripsOf = async (work: () => Promise<unknown>): Promise<number> => {
      await registry.idle();
      return (await proxy.count(work)).roundTrips;
    };
    const calls = Array.from({ length: 100 }, (_, index) => `call-${index}`);
    expect(await tripsOf(async () => await Promise.all(calls.map(admit)))).toBe(0);
    for (const _ of calls) circuits.reportLater('a-1', { ok: true, latencyMs: 5 }, ADA, onLost);
    expect((await proxy.count(async () => await circuits.record())).roundTrips).toBe(2);
    for (let count = 0; count < failuresToOpen; count++) await circuits.report('a-1', { ok: false }, ADA);
    expect(await tripsOf(async () => expect(await admit('early')).toBe('CIRCUIT_OPEN'))).toBe(1);
    await endCoolDown(database);
    expect(await tripsOf(async () => expect(await admit('probe')).toBe('probe'))).toBeLessThanOrEqual(4);
    await circuits.report('a-1', { ok: true, probeId: 'probe' }, ADA);
    expect(await tripsOf(async () => expect(await admit('next')).toBeUndefined())).toBe(0);
    await registry.idle();
    proxy.stop();
    await database.drop();
  });

  it('S3.8 is rejected if the agent is unknown or has left', async () => {
    const replicas = await TwoReplicas.start();
    const { here } = replicas;
    await replicas.given.agent({ agentId: 'a-1' });
    expect(await codeOf(here.circuits.admit('unknown', 'c'))).toBe('AGENT_NOT_FOUND');
    await here.agents.remove('a-1', 'evicted');
    await here.idle();
    expect(await codeOf(here.circuits.admit('a-1', 'c'))).toBe('AGENT_NOT_FOUND');
    await replicas.stop();
  });
});

describe('calls on two replicas', () => {
  let replicas: TwoReplicas;
  let here: TestRegistry;
  let there: TestRegistry;
  beforeEach(async () => {
    replicas = await TwoReplicas.start();
    ({ here, there } = replicas);
    await replicas.given.agent({ agentId: 'a-1' });
    for (const { follower, events } of [here, there]) {
      await follower.follow();
      events.feed.start();
    }
  });
  afterEach(async () => {
    for (const { follower, events } of [here, there]) {
      await follower.close();
      await events.feed.stop();
    }
    await replicas.stop();
    expect(lost).toEqual([]);
  });

  const recorded = async (): Promise<unknown> => await Promise.all([here.circuits.idle(), there.circuits.idle()]);
  const fail = (at: TestRegistry, probeId?: string): void =>
    at.circuits.reportLater('a-1', { ok: false, probeId }, ADA, onLost);
  const untilBothKnow = async (phase: string): Promise<void> => {
    await replicas.loggedEvents(); // moves the events to the log, which both replicas follow
    for (const { directory } of [here, there])
      await until(
        `the directory knows that the circuit is ${phase}`,
        () => directory.circuitOf('a-1')?.phase === phase,
      );
  };

  it('R-5 100 outcomes, an opened and a closed circuit change neither the revision nor the version of the agent', async () => {
    const { version, record } = await here.agents.getVersioned('a-1');
    for (let count = 0; count < 100; count++)
      (count % 2 ? here : there).circuits.reportLater('a-1', { ok: true, latencyMs: 50 }, ADA, onLost);
    await recorded();
    for (let count = 0; count < failuresToOpen; count++) fail(here);
    await recorded();
    await endCoolDown(replicas.database);
    await there.circuits.acquireProbe('a-1', 'p-1');
    await there.circuits.report('a-1', { ok: true, probeId: 'p-1' }, ADA);
    const after = await here.agents.getVersioned('a-1');
    expect([after.version, after.record.latency.observedMs]).toEqual([version, 50]);
    expect(await here.circuits.listOutcomes('a-1', 1, undefined)).toMatchObject([{ number: 101 + failuresToOpen }]);
    const credential = { agentId: 'a-1', generation: record.generation, tokenHash: null };
    const updated = await there.agents.update(credential, { version: '2' }, version);
    expect(updated.record.version).toBe('2');
    expect(updated.version).not.toBe(version);
  });

  it('S3.8 failures on both replicas open the circuit once, and both replicas reject calls', async () => {
    for (let count = 1; count < failuresToOpen; count++) fail(count % 2 ? here : there);
    await recorded();
    expect(await here.circuits.admit('a-1', 'c')).toBeUndefined();
    fail(there);
    await recorded();
    await untilBothKnow('open');
    for (const at of [here, there]) expect(await codeOf(at.circuits.admit('a-1', 'c'))).toBe('CIRCUIT_OPEN');
    expect(await replicas.loggedEvents('circuit.opened')).toMatchObject([
      { data: { reporters: [{ ...ADA, failures: failuresToOpen }] } },
    ]);
  });

  it('S3.8 one of 50 concurrent calls on two replicas is the probe, and its success closes the circuit on both', async () => {
    for (let count = 0; count < failuresToOpen; count++) fail(here);
    await recorded();
    await untilBothKnow('open');
    await endCoolDown(replicas.database);
    const calls = Array.from({ length: 50 }, (_, index) => `call-${index}`);
    const answers = await Promise.all(
      calls.map(async (id, index) => await codeOf((index % 2 ? here : there).circuits.admit('a-1', id))),
    );
    const probes = answers.filter((answer) => answer !== 'CIRCUIT_OPEN');
    expect(probes).toEqual([expect.stringMatching(/^call-/)]);
    there.circuits.reportLater('a-1', { ok: true, probeId: String(probes[0]) }, ADA, onLost);
    await recorded();
    await untilBothKnow('closed');
    for (const at of [here, there]) expect(await at.circuits.admit('a-1', 'next')).toBeUndefined();
  });

  it('S3.8 a returned probe slot is free for a caller of the other replica', async () => {
    for (let count = 0; count < failuresToOpen; count++) fail(here);
    await recorded();
    await untilBothKnow('open');
    await endCoolDown(replicas.database);
    expect(await here.circuits.admit('a-1', 'first')).toBe('first');
    expect(await codeOf(there.circuits.admit('a-1', 'second'))).toBe('CIRCUIT_OPEN');
    here.circuits.returnProbe('a-1', 'first', onLost);
    await recorded();
    expect(await there.circuits.admit('a-1', 'second')).toBe('second');
  });

  it('R-5 a success is recorded by the next pass, and a failure or a success after a failure at once', async () => {
    const count = async (): Promise<number> => (await here.circuits.listOutcomes('a-1', 9, undefined)).length;
    const succeed = (): void => here.circuits.reportLater('a-1', { ok: true }, ADA, onLost);
    succeed();
    succeed();
    expect(await count()).toBe(0);
    await here.circuits.record();
    expect(await count()).toBe(2);
    fail(here);
    await until('the failure is recorded', async () => (await count()) === 3);
    succeed();
    await until('the success is recorded', async () => (await count()) === 4);
    expect((await there.agents.get('a-1')).health.consecutiveFailures).toBe(0);
  });

  it('R-5 an outcome that Postgres rejects and an outcome of an unknown agent fail alone', async () => {
    await replicas.given.agent({ agentId: 'a-2' });
    const report = (agentId: string, name: string): void =>
      here.circuits.reportLater(agentId, { ok: true }, { id: 'key:ada', name }, onLost);
    report('a-1', 'ada');
    report('a-2', 'not a \u0000 text');
    report('unknown', 'ada');
    report('a-2', 'ada');
    await here.circuits.idle();
    expect(lost.splice(0)).toEqual([
      expect.stringMatching(/unsupported Unicode escape sequence/),
      expect.stringMatching(/unknown/),
    ]);
    for (const agentId of ['a-1', 'a-2'])
      expect(await there.circuits.listOutcomes(agentId, 9, undefined)).toMatchObject([{ number: 1, reporter: ADA }]);
  });
});

describe('outcomes and the database', () => {
  it('R-5 outcomes that are reported while the database is unavailable are recorded afterwards, in order', async () => {
    const database = await testDatabase();
    const { proxy, url } = await proxyPostgres(database.url);
    const registry = await testRegistry(await database.connectAgain({ url, operationTimeoutMs: 1_000 }));
    const healthy = await testRegistry(database.db);
    await registry.given.agent({ agentId: 'a-1' });
    await registry.idle();
    proxy.cut();
    registry.circuits.reportLater('a-1', { ok: true, latencyMs: 80 }, ADA, onLost);
    for (let count = 0; count < failuresToOpen; count++)
      registry.circuits.reportLater('a-1', { ok: false }, ADA, onLost);
    await registry.circuits.idle();
    expect(await healthy.circuits.listOutcomes('a-1', 9, undefined)).toEqual([]);
    expect(await registry.circuits.admit('a-1', 'c')).toBeUndefined(); // from memory
    proxy.heal();
    await registry.circuits.record();
    const outcomes = await healthy.circuits.listOutcomes('a-1', 9, undefined);
    expect(outcomes.map(({ ok }) => ok)).toEqual([...Array.from({ length: failuresToOpen }, () => false), true]);
    expect(await codeOf(registry.circuits.admit('a-1', 'c'))).toBe('CIRCUIT_OPEN');
    expect(lost).toEqual([]);
    await registry.idle();
    await database.drop();
    await proxy.stop();
  });

  it('R-5 a replica that stops records the outcomes that wait', async () => {
    const database = await testDatabase();
    const module = await registryModule(await database.connectAgain(), {});
    await module.init();
    const facts = given.registration();
    await module
      .get(AgentsService, { strict: false })
      .register({ agentId: 'a-1', leaseToken: null, by: 'test', facts });
    const circuits = module.get(CircuitService, { strict: false });
    for (let count = 0; count < 20; count++) circuits.reportLater('a-1', { ok: true }, ADA, onLost);
    await module.close();
    const rows = await database.db.query('SELECT FROM agent_outcome');
    expect([rows.length, lost]).toEqual([20, []]);
    await database.drop();
  });
});
