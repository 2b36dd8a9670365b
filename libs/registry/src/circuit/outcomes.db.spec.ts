import { TwoReplicas } from '../testing/two-replicas.js';
import type { TestRegistry } from '../testing/test-registry.js';
import { DEFAULT_CIRCUIT_POLICY } from './circuit.breaker.js';
import { averageLatency } from './circuit.changes.js';
import { KEPT_OUTCOMES, type ReportedOutcome } from './outcome.js';

const ADA = { id: 'key:ada', name: 'ada' };
const BOB = { id: 'oidc:bob', name: 'Bob' };
const { failuresToOpen } = DEFAULT_CIRCUIT_POLICY;

let replicas: TwoReplicas;
let here: TestRegistry;
let there: TestRegistry;
beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
  await replicas.given.agent({ agentId: 'a-1', declaredMs: 500 });
});
afterEach(async () => await replicas.stop());

const outcomes = async (at = here): Promise<ReportedOutcome[]> => await at.circuits.listOutcomes('a-1', 200, undefined);
const latencyOn = async (at: TestRegistry): Promise<unknown> => (await at.agents.get('a-1')).latency;
const inDirectoryOf = (at: TestRegistry): unknown => at.directory.find('a-1')?.record.latency;
/** Ends the cool-down of an open circuit. */
const coolDown = async (): Promise<unknown> =>
  await replicas.database.db.query(`UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', '1')`);

describe('an outcome', () => {
  it('is recorded with its reporter on every replica, newest first', async () => {
    await here.circuits.report('a-1', { ok: true, latencyMs: 120 }, ADA);
    await there.circuits.report('a-1', { ok: false }, BOB);
    expect(await outcomes(there)).toEqual(await outcomes(here));
    expect(await outcomes()).toMatchObject([
      { number: 2, generation: 1, ok: false, latencyMs: null, reporter: BOB },
      { number: 1, generation: 1, ok: true, latencyMs: 120, reporter: ADA },
    ]);
  });

  it('C2 an outcome sets the time of the last task, even if the call failed', async () => {
    await here.circuits.report('a-1', { ok: true }, ADA);
    const afterSuccess = (await here.agents.get('a-1')).lastTaskAt;
    await here.circuits.report('a-1', { ok: false }, ADA);
    const [{ at }] = (await outcomes()) as [ReportedOutcome];
    expect((await here.agents.get('a-1')).lastTaskAt).toBe(at.toISOString());
    expect(at.getTime()).toBeGreaterThanOrEqual(Date.parse(afterSuccess ?? ''));
  });

  it('is rejected if the agent is unknown or has left', async () => {
    await expect(here.circuits.report('unknown', { ok: true }, ADA)).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    await here.agents.remove('a-1', 'evicted');
    await expect(here.circuits.report('a-1', { ok: true }, ADA)).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
  });

  it('replaces the oldest outcome of a full list', async () => {
    for (let count = 0; count < KEPT_OUTCOMES + 3; count++) await here.circuits.report('a-1', { ok: true }, ADA);
    const numbers = (await outcomes()).map(({ number }) => number);
    expect(numbers).toEqual(Array.from({ length: KEPT_OUTCOMES }, (_, index) => KEPT_OUTCOMES + 3 - index));
  });

  it('is deleted with the record of its agent', async () => {
    await here.circuits.report('a-1', { ok: true }, ADA);
    await here.agents.remove('a-1', 'evicted');
    expect(await outcomes()).toHaveLength(1);
    await here.agents.prune(-1_000);
    await expect(outcomes()).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' });
    for (const table of ['agent_outcome', 'agent_circuit'])
      expect(await replicas.database.db.query(`SELECT FROM ${table}`)).toEqual([]);
    await replicas.given.agent({ agentId: 'a-1' });
    expect(await outcomes()).toEqual([]);
  });

  it('concurrent outcomes on two replicas are numbered without duplicates or gaps, and each counts once', async () => {
    const reports = Array.from({ length: 60 }, async (_, index) => {
      const [at, reporter] = index % 2 === 0 ? [here, ADA] : [there, BOB];
      return await at.circuits.report('a-1', { ok: true, latencyMs: 100 + index }, reporter);
    });
    await Promise.all(reports);
    const all = (await outcomes()).toReversed();
    expect(all.map(({ number }) => number)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    const expected = all.reduce<number | null>((before, { latencyMs }) => averageLatency(before, latencyMs ?? 0), null);
    expect(await latencyOn(here)).toEqual({ declaredMs: 500, observedMs: expected });
    expect(await latencyOn(there)).toEqual(await latencyOn(here));
  });
});

describe('circuit.opened', () => {
  const reportersOf = async (): Promise<unknown[]> =>
    (await replicas.loggedEvents('circuit.opened')).map(({ data }) => (data as { reporters: unknown }).reporters);

  it('names the reporters of the failures on both replicas, the reporter with the most failures first', async () => {
    await here.circuits.report('a-1', { ok: false }, ADA);
    await here.circuits.report('a-1', { ok: true }, ADA); // resets the count, so the failure before this success does not count
    await here.circuits.report('a-1', { ok: false }, ADA);
    for (let count = 1; count < failuresToOpen; count++) await there.circuits.report('a-1', { ok: false }, BOB);
    expect(await reportersOf()).toEqual([
      [
        { ...BOB, failures: failuresToOpen - 1 },
        { ...ADA, failures: 1 },
      ],
    ]);
  });

  it('names only the reporter of a failed probe', async () => {
    for (let count = 0; count < failuresToOpen; count++) await here.circuits.report('a-1', { ok: false }, ADA);
    await here.circuits.report('a-1', { ok: false }, ADA); // late: the circuit is open, so it does not count
    await coolDown();
    await there.circuits.acquireProbe('a-1', 'p-1');
    await there.circuits.report('a-1', { ok: false, probeId: 'p-1' }, BOB);
    expect(await reportersOf()).toEqual([[{ ...ADA, failures: failuresToOpen }], [{ ...BOB, failures: 1 }]]);
  });

  it('is published once for concurrent failures on two replicas, and counts exactly the failures that opened the circuit', async () => {
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) =>
        index % 2 === 0
          ? await here.circuits.report('a-1', { ok: false }, ADA)
          : await there.circuits.report('a-1', { ok: false }, BOB),
      ),
    );
    const first = (await outcomes()).toReversed().slice(0, failuresToOpen);
    const count = (id: string): number => first.filter(({ reporter }) => reporter.id === id).length;
    const [reporters, ...others] = (await reportersOf()) as { id: string; failures: number }[][];
    expect(others).toEqual([]);
    const expected = [ADA, BOB].map(({ id }) => [id, count(id)]).filter(([, failures]) => failures !== 0);
    expect(new Map(reporters?.map(({ id, failures }) => [id, failures]))).toEqual(
      new Map(expected as [string, number][]),
    );
  });
});

describe('the observed latency', () => {
  it('is the average of successful calls; failures do not change it', async () => {
    await here.circuits.report('a-1', { ok: true, latencyMs: 100 }, ADA);
    await there.circuits.report('a-1', { ok: true, latencyMs: 200 }, BOB);
    await there.circuits.report('a-1', { ok: false, latencyMs: 1 }, BOB);
    await there.circuits.report('a-1', { ok: true }, BOB);
    expect(await latencyOn(here)).toEqual({ declaredMs: 500, observedMs: 120 });
  });

  it('is in the directory of its replica immediately, and of other replicas after their next read', async () => {
    await Promise.all([here.sync.load(), there.sync.load()]);
    await here.circuits.report('a-1', { ok: true, latencyMs: 80 }, ADA);
    await here.idle();
    expect(inDirectoryOf(here)).toEqual({ declaredMs: 500, observedMs: 80 });
    expect(inDirectoryOf(there)).toEqual({ declaredMs: 500, observedMs: null });
    expect([await here.sync.readOutcomes(), await there.sync.readOutcomes()]).toEqual([0, 1]);
    await there.idle();
    expect(inDirectoryOf(there)).toEqual({ declaredMs: 500, observedMs: 80 });
    expect(await there.sync.readOutcomes()).toBe(0);
  });

  it('C2 the observed latency takes precedence over the declared latency in a ranking', async () => {
    await replicas.given.agent({ agentId: 'a-2', declaredMs: 10 });
    await here.circuits.report('a-2', { ok: true, latencyMs: 900 }, ADA);
    await here.idle();
    const ranking = here.ranker.rank({ prefer: 'fastest' }, here.clock.now());
    expect(ranking.candidates.map(({ agent, score }) => [agent.agentId, score])).toEqual([
      ['a-1', 500],
      ['a-2', 900],
    ]);
  });

  it('survives a new registration, and the numbers of the outcomes continue', async () => {
    const { leaseToken } = await replicas.given.agent({ agentId: 'again' });
    await here.circuits.report('again', { ok: true, latencyMs: 70 }, ADA);
    await replicas.given.agent({ agentId: 'again', leaseToken });
    await here.circuits.report('again', { ok: true }, ADA);
    expect((await here.agents.get('again')).latency.observedMs).toBe(70);
    expect(await here.circuits.listOutcomes('again', 9, undefined)).toMatchObject([
      { number: 2, generation: 2 },
      { number: 1, generation: 1 },
    ]);
  });
});

describe('the declared latency', () => {
  it('is the latency of the last heartbeat that contains one, or else that of the registration', async () => {
    const { credential } = await replicas.given.agent({ agentId: 'b-1', declaredMs: 300 });
    const declared = async (at: TestRegistry): Promise<unknown> => (await at.agents.get('b-1')).latency;
    await Promise.all([here.sync.load(), there.sync.load()]);
    await here.heartbeats.beatAll([{ ...credential, reportedMs: 250 }]);
    await here.heartbeats.beatAll([credential]);
    await Promise.all([here.idle(), there.sync.readBeats()]);
    const expected = { declaredMs: 250, observedMs: null };
    expect(await declared(here)).toEqual(expected);
    const latencyAt = ({ directory }: TestRegistry): unknown => directory.find('b-1')?.record.latency;
    expect([here, there].map(latencyAt)).toEqual([expected, expected]);
  });
});
