import type { GivenAgent } from '../../testing/given-agents.js';
import { given } from '../../testing/given.js';
import { expectSound } from '../../testing/test-budgets.js';
import { testRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { TwoReplicas } from '../../testing/two-replicas.js';
import type { Budget } from '../budget.js';
import type { ReservationKey } from './ledger.operation.js';

const AGENT = 'builder';
let replicas: TwoReplicas;
let here: TestRegistry;
let there: TestRegistry;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  ({ here, there } = replicas);
});
afterEach(async () => await replicas.stop());

async function register(usedTokens = 0): Promise<GivenAgent> {
  return await here.given.agent({ agentId: AGENT, budget: { totalTokens: null, usedTokens, source: 'reported' } });
}

async function reserve(replica: TestRegistry, ttlMs = 60_000): Promise<ReservationKey> {
  return await replica.budgets.ledger.reserve(given.reservation(50, { agentId: AGENT, ttlMs }));
}

async function settle(replica: TestRegistry, of: ReservationKey, tokens: number): Promise<void> {
  await replica.budgets.ledger.settle(of, { tokens, microUsd: 0 });
}

async function report(replica: TestRegistry, { credential }: GivenAgent, usedTokens: number): Promise<void> {
  await replica.heartbeats.beatAll([{ ...credential, usedTokens }]);
  await replica.budgets.sweeper.sweep();
}

async function budget(): Promise<Budget> {
  const [reading] = await there.budgets.budgets.of('agent', AGENT);
  if (!reading) throw new Error('the agent has no budget');
  return reading.budget;
}

const used = async (): Promise<number> => (await budget()).used.tokens;

describe('reports and settlements on two replicas', () => {
  it('S3.10 concurrent reports and settlements never charge more than the agent used, and charge all of it in the end', async () => {
    const agent = await register();
    let total = 0;
    const replicaOf = (index: number): TestRegistry => (index % 2 === 0 ? here : there);
    const call = async (worker: number, round: number): Promise<void> => {
      const of = await reserve(replicaOf(worker));
      const tokens = 10 + ((worker * 7 + round) % 80);
      total += tokens;
      if ((worker + round) % 3 === 0) await report(replicaOf(worker + round), agent, total);
      await settle(replicaOf(round), of, tokens);
      if (worker % 4 === 0) total += 5; // outside of calls
      if ((worker + round) % 5 === 0) await report(replicaOf(worker), agent, total);
      const charged = await used();
      expect(charged).toBeLessThanOrEqual(total);
    };
    const work = async (worker: number): Promise<void> => {
      for (let round = 0; round < 8; round++) await call(worker, round);
    };
    await Promise.all(Array.from({ length: 12 }, async (_, worker) => await work(worker)));
    await report(here, agent, total);
    expect(await used()).toBe(total);
    expect((await budget()).reserved.tokens).toBe(0);
    await expectSound(here.budgets);
  });

  it('S3.10 C3 a call is charged once if a report arrives on the other replica before its settlement', async () => {
    const agent = await register();
    const of = await reserve(here);
    await report(there, agent, 1_400);
    await settle(here, of, 400);
    expect(await used()).toBe(1_400);
    const [line] = await here.budgets.budgets.lines((await budget()).id, 1, undefined);
    expect(line).toMatchObject({ kind: 'charged', tokens: '0', key: of.key, marks: ['overdraft', 'reported'] });
    await settle(there, await reserve(there), 30);
    expect(await used()).toBe(1_430);
    await report(here, agent, 1_430);
    expect(await used()).toBe(1_430);
    await expectSound(here.budgets);
  });

  it('S3.10 a call is charged once if its reservation expires and it is settled after a report', async () => {
    const agent = await register();
    const of = await reserve(here, 1_000);
    await replicas.database.db.query(
      `UPDATE budget_reservation SET expires_at = clock_timestamp() - interval '1 second'`,
    );
    await report(there, agent, 40);
    expect((await budget()).reserved.tokens).toBe(0);
    await settle(there, of, 40);
    expect(await used()).toBe(40);
    await expectSound(here.budgets);
  });

  it('S3.10 other budgets of a call are charged in full, because reports do not charge them', async () => {
    const agent = await register();
    const fleet = await here.budgets.budgets.open(given.budgetRequest(10_000));
    const of = await reserve(here);
    await report(here, agent, 1_400);
    await settle(here, of, 40);
    expect((await here.budgets.budgets.get(fleet.id)).budget.used.tokens).toBe(40);
    await expectSound(here.budgets);
  });
});

describe('the total of an agent', () => {
  it('S3.10 the total of an agent is not charged again after an operator adjusted the usage', async () => {
    const agent = await register();
    await report(here, agent, 1_400);
    await here.budgets.budgets.adjust((await budget()).id, { used: { tokens: 100 } }, { by: 'op', note: 'refund' });
    const fresh = await testRegistry(await replicas.database.connectAgain());
    expect(await fresh.budgets.sweeper.sweep()).toMatchObject({ reported: 0 });
    expect((await there.agents.get(AGENT)).budget.usedTokens).toBe(100);
    await report(there, agent, 1_450);
    expect(await used()).toBe(150);
    await here.agents.remove(AGENT, 'evicted');
    await register(1_450);
    expect(await used()).toBe(150);
    await expectSound(here.budgets);
  });

  it('S3.10 the total of an agent is charged once if the agent leaves or declares the total again during a call', async () => {
    const agent = await register();
    const of = await reserve(here);
    await here.heartbeats.beatAll([{ ...agent.credential, usedTokens: 700 }]);
    await there.agents.remove(AGENT, 'evicted');
    expect(await used()).toBe(700);
    await register(750);
    await settle(there, of, 50);
    expect(await used()).toBe(750);
    await expectSound(here.budgets);
  });

  it('S3.10 a lower total after a restart changes nothing, and the calls after the restart are charged', async () => {
    await report(here, await register(), 500);
    await here.agents.remove(AGENT, 'evicted');
    const restarted = await register();
    const of = await reserve(here);
    await report(here, restarted, 40);
    await settle(here, of, 40);
    expect(await used()).toBe(540);
    await expectSound(here.budgets);
  });
});
