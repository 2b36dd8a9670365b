import { AuctionWorld, keyOf, offer } from '../../testing/auction-world.js';
import { announcement, type ContractParts } from '../../testing/contract-parts.js';
import type { GivenAgent } from '../../testing/given-agents.js';
import { expectSound } from '../../testing/test-budgets.js';
import type { TwoReplicas } from '../../testing/two-replicas.js';

let world: AuctionWorld;
let replicas: TwoReplicas;
let here: ContractParts;
let there: ContractParts;
let fast: GivenAgent;
let cheap: GivenAgent;

beforeEach(async () => {
  world = await AuctionWorld.start();
  ({ replicas, here, there, fast, cheap } = world);
});
afterEach(async () => await world.stop());

/** The contracts that need an answer from the agent. */
const awaited = async (agentId: string): Promise<string[]> =>
  (await here.attendance.awaiting(agentId)).map(({ id }) => id);

describe('an absent agent (S3.9)', () => {
  it.each([
    ['leaves', async () => await replicas.here.agents.deregister(cheap.credential)],
    [
      'registers again',
      async () => void (await replicas.given.agent({ agentId: 'cheap', leaseToken: cheap.leaseToken })),
    ],
    [
      'is quarantined',
      async () => void (await replicas.here.agents.setDesiredState('cheap', 'quarantined', null, 'op')),
    ],
    ['is drained', async () => void (await replicas.here.agents.setDesiredState('cheap', 'draining', null, 'op'))],
  ])('S3.9 a winner that %s loses its award to the runner-up at once', async (_, change) => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await here.closer.pass();
    await change();
    expect(await there.closer.pass()).toBe(1);
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'fast', awards: 2 });
    expect(await world.held()).toBe(9_000);
    const lapsed = (await world.transcript(contract)).find(({ kind }) => kind === 'lapsed');
    expect(lapsed?.data).toEqual({ agentId: 'cheap', reason: 'unavailable' });
    await replicas.here.agents.deregister(fast.credential);
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'expired', expiryReason: 'bidders_left', winner: null });
    expect(await world.held()).toBe(0);
    await expectSound(replicas.here.budgets);
  });

  it('S3.9 a quarantined winner cannot confirm, and its attempt to confirm gives the award to the runner-up', async () => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await here.closer.pass();
    await replicas.here.agents.setDesiredState('cheap', 'quarantined', null, 'op');
    const confirmation = there.bidding.confirm(keyOf(contract), cheap.credential);
    await expect(confirmation).rejects.toMatchObject({ code: 'CONTRACT_NOT_AWARDED' });
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'fast' });
    expect(await here.closer.pass()).toBe(0);
  });

  it('S3.9 an auction closes early when the agents that have not answered have left or are drained', async () => {
    const silent = await replicas.given.agent({ agentId: 'silent' });
    await replicas.given.agent({ agentId: 'drained' });
    const contract = await here.service.announce(announcement());
    expect(contract.invited).toBe(4);
    await world.bothBid(contract);
    await replicas.here.agents.deregister(silent.credential);
    expect(await here.closer.pass()).toBe(0); // one agent can still answer
    await replicas.here.agents.setDesiredState('drained', 'draining', null, 'op');
    expect(await here.closer.pass()).toBe(1);
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'cheap', answered: 2 });
  });

  it('S3.9 an invited agent that registers again can still bid', async () => {
    const contract = await here.service.announce(announcement());
    const again = await replicas.given.agent({ agentId: 'cheap', leaseToken: cheap.leaseToken });
    await here.bidding.bid(keyOf(contract), fast.credential, offer());
    expect(await here.closer.pass()).toBe(0);
    await here.bidding.bid(keyOf(contract), again.credential, offer({ price: 1 }));
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ winner: 'cheap' });
  });

  it('S3.9 an auction waits for a bidder that registers again, because its bid is lost', async () => {
    const contract = await here.service.announce(announcement());
    await here.bidding.bid(keyOf(contract), cheap.credential, offer({ price: 1 }));
    const again = await replicas.given.agent({ agentId: 'cheap', leaseToken: cheap.leaseToken });
    await there.bidding.bid(keyOf(contract), fast.credential, offer());
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'bidding', answered: 2 });
    expect(await awaited('cheap')).toEqual([contract.id]);
    expect(await awaited('fast')).toEqual([]);
    await there.bidding.bid(keyOf(contract), again.credential, offer({ price: 1 }));
    await there.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'cheap', answered: 2 });
    expect(await awaited('cheap')).toEqual([contract.id]);
    await replicas.given.agent({ agentId: 'cheap', leaseToken: again.leaseToken });
    expect(await awaited('cheap')).toEqual([]); // it cannot confirm the award of its previous registration
  });

  it('S3.9 an auction does not wait for an agent that refused and registers again', async () => {
    const contract = await here.service.announce(announcement());
    await here.bidding.bid(keyOf(contract), cheap.credential, { refuse: true, note: null });
    await replicas.given.agent({ agentId: 'cheap', leaseToken: cheap.leaseToken });
    await here.bidding.bid(keyOf(contract), fast.credential, offer());
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'fast' });
  });
});
