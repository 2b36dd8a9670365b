import { AuctionWorld, keyOf, offer } from '../testing/auction-world.js';
import { announcement, type ContractParts } from '../testing/contract-parts.js';
import type { GivenAgent } from '../testing/given-agents.js';
import { expectSound } from '../testing/test-budgets.js';
import type { TwoReplicas } from '../testing/two-replicas.js';
import type { Contract } from './contract.js';

const OWNER = { by: 'key:test', mayManage: false };

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

const kinds = async (contract: Contract): Promise<string[]> =>
  (await world.transcript(contract)).map(({ kind }) => kind);

describe('an auction (S3.9)', () => {
  it('S3.9 an auction closes early when all agents have answered, and the best bid is awarded, reserved and confirmed', async () => {
    const contract = await here.service.announce(announcement());
    expect(contract).toMatchObject({ state: 'announced', invited: 2, answered: 0 });
    await expect(here.bidding.confirm(keyOf(contract), cheap.credential)).rejects.toThrow(
      'the auction is not closed yet',
    );
    await world.bothBid(contract);
    expect(await there.closer.pass()).toBe(1);
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'cheap', awards: 1 });
    expect(await world.held()).toBe(1_000);
    await expect(here.bidding.confirm(keyOf(contract), fast.credential)).rejects.toThrow('another agent has the award');
    expect(await there.bidding.confirm(keyOf(contract), cheap.credential)).toMatchObject({ state: 'confirmed' });
    await expect(here.bidding.confirm(keyOf(contract), fast.credential)).rejects.toThrow(
      'another agent has confirmed it',
    );
    await expect(here.bidding.decline(keyOf(contract), cheap.credential)).rejects.toMatchObject({
      code: 'CONTRACT_CLOSED',
    });
    expect(await here.bidding.confirm(keyOf(contract), cheap.credential)).toMatchObject({ state: 'confirmed' });
    expect(await kinds(contract)).toEqual(['announced', 'bid', 'bid', 'scored', 'awarded', 'confirmed', 'lost']);
    const types = (await replicas.loggedEvents()).map(({ type }) => type).filter((type) => type.startsWith('contract'));
    expect(types).toEqual(
      ['announced', 'answered', 'answered', 'awarded', 'confirmed', 'lost'].map((name) => `contract.${name}`),
    );
    await expectSound(replicas.here.budgets);
  });

  it('S3.9 an auction keeps bids sealed until it closes: until then, neither the transcript nor an event contains a price', async () => {
    const contract = await here.service.announce(announcement());
    await here.bidding.bid(keyOf(contract), cheap.credential, offer({ price: 4_711 }));
    const reading = await there.service.get(keyOf(contract));
    expect(reading.contract).toMatchObject({ state: 'bidding', answered: 1 });
    expect([reading.participants, reading.transcript.map(({ kind }) => kind)]).toEqual([[], ['announced']]);
    expect(JSON.stringify([reading, await replicas.loggedEvents()])).not.toContain('4711');
    await world.elapse(60_000);
    await here.closer.pass();
    expect(await kinds(contract)).toEqual(['announced', 'bid', 'scored', 'awarded']);
  });

  it('S3.9 the last bid of an agent before the deadline counts; a late bid is recorded and rejected', async () => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    const revised = await here.bidding.bid(keyOf(contract), fast.credential, offer({ price: 10, etaMs: 10 }));
    expect([revised.revision, revised.contract.answered]).toEqual([2, 2]);
    await world.elapse(60_000);
    const late = here.bidding.bid(keyOf(contract), cheap.credential, offer({ price: 0 }));
    await expect(late).rejects.toMatchObject({ code: 'BID_LATE' });
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ winner: 'fast' });
    const again = there.bidding.bid(keyOf(contract), cheap.credential, offer({ price: 0 }));
    await expect(again).rejects.toMatchObject({ code: 'BID_LATE' });
    expect((await world.transcript(contract)).filter(({ kind }) => kind === 'late')).toHaveLength(2);
    const { participants } = await here.service.get(keyOf(contract));
    expect(participants.map(({ agentId, lateAnswers }) => [agentId, lateAnswers])).toEqual([
      ['fast', 0],
      ['cheap', 2],
    ]);
  });

  it('S3.9 rejects bids with forged tokens or wrong generations, bids without an invitation, and too many replacements', async () => {
    const contract = await here.service.announce(announcement());
    const late = await replicas.given.agent({ agentId: 'newcomer' });
    const bid = here.bidding.bid.bind(here.bidding, keyOf(contract));
    await expect(bid({ ...cheap.credential, tokenHash: 'forged' }, offer())).rejects.toMatchObject({
      code: 'LEASE_TOKEN_REFUSED',
    });
    await expect(bid({ ...cheap.credential, generation: 9 }, offer())).rejects.toMatchObject({
      code: 'GENERATION_AHEAD',
    });
    await expect(bid(late.credential, offer())).rejects.toMatchObject({ code: 'CONTRACT_NOT_INVITED' });
    await expect(bid(cheap.credential, offer({ price: NaN }))).rejects.toMatchObject({ code: 'BID_INVALID' });
    const unknown = here.bidding.bid({ namespace: 'other', id: contract.id }, cheap.credential, offer());
    await expect(unknown).rejects.toMatchObject({ code: 'CONTRACT_NOT_FOUND' });
    for (let price = 0; price <= 20; price++) await bid(cheap.credential, offer({ price })); // a bid and 20 replacements
    expect((await bid(cheap.credential, offer({ price: 20 }))).revision).toBe(21); // a repetition is not a replacement
    await expect(bid(cheap.credential, offer())).rejects.toMatchObject({ code: 'BID_REVISED_TOO_OFTEN' });
  });

  it('S3.9 an auction expires with a reason: no capable agent, no bid, only refusals, or a budget that allows no award', async () => {
    const reasonOf = async (contract: Contract): Promise<unknown> => {
      await here.closer.pass();
      const { state, expiryReason } = await world.now(contract);
      return [state, expiryReason];
    };
    const none = await here.service.announce(announcement({ capabilities: ['fly'] }));
    expect(await reasonOf(none)).toEqual(['expired', 'no_capable_agent']);
    const silent = await here.service.announce(announcement());
    await world.elapse(60_000);
    expect(await reasonOf(silent)).toEqual(['expired', 'no_bid']);
    const refused = await here.service.announce(announcement());
    for (const { credential } of [fast, cheap])
      await here.bidding.bid(keyOf(refused), credential, { refuse: true, note: 'busy' });
    expect(await reasonOf(refused)).toEqual(['expired', 'all_refused']);
    await replicas.given.budget(null, { limit: { tokens: null, microUsd: 500 } });
    const unfunded = await here.service.announce(announcement());
    await world.bothBid(unfunded);
    expect(await reasonOf(unfunded)).toEqual(['expired', 'budget_exhausted']);
    expect(await kinds(unfunded)).toEqual(expect.arrayContaining(['unfunded', 'lost']));
    expect(await world.held()).toBe(0);
    await expectSound(replicas.here.budgets);
  });
});

describe('an answer (S3.9)', () => {
  it('S3.9 a repetition of the last bid, or of the last refusal with the same note, has no effect', async () => {
    const contract = await here.service.announce(announcement());
    const revisions: number[] = [];
    for (const request of [offer(), offer(), offer({ note: 'sure' }), { refuse: true, note: 'busy' } as const])
      revisions.push((await here.bidding.bid(keyOf(contract), cheap.credential, request)).revision);
    revisions.push(
      (await there.bidding.bid(keyOf(contract), cheap.credential, { refuse: true, note: 'busy' })).revision,
    );
    expect(revisions).toEqual([1, 1, 2, 3, 3]);
  });

  it('S3.9 a bid or a refusal with a note that cannot be stored is invalid', async () => {
    const contract = await here.service.announce(announcement());
    for (const note of ['x'.repeat(501), 'a\0b'])
      for (const request of [offer({ note }), { refuse: true, note } as const])
        await expect(here.bidding.bid(keyOf(contract), cheap.credential, request)).rejects.toMatchObject({
          code: 'BID_INVALID',
        });
    expect(await world.now(contract)).toMatchObject({ state: 'announced', answered: 0 });
  });

  it('S3.9 an answer to a cancelled contract, or after an early close, gets CONTRACT_CLOSED and is not recorded as late', async () => {
    const cancelled = await here.service.announce(announcement());
    await here.service.cancel(keyOf(cancelled), OWNER);
    const closed = await here.service.announce(announcement());
    await world.bothBid(closed);
    await here.closer.pass();
    for (const contract of [cancelled, closed]) {
      const bid = here.bidding.bid(keyOf(contract), cheap.credential, offer({ price: 0 }));
      await expect(bid).rejects.toMatchObject({ code: 'CONTRACT_CLOSED' });
      expect(await kinds(contract)).not.toContain('late');
    }
  });

  it('S3.9 a transcript contains the time at which each answer was accepted, and up to 3 late answers of each agent', async () => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await replicas.database.db.query(`UPDATE contract SET deadline = clock_timestamp(), due_at = clock_timestamp()`);
    const late = async (): Promise<string> =>
      await here.bidding.bid(keyOf(contract), cheap.credential, { refuse: true, note: null }).then(String, String);
    const messages = [await late(), await late(), await late(), await late()];
    expect(messages.map((text) => text.includes('It is recorded'))).toEqual([true, true, true, false]);
    await here.closer.pass();
    const entries = await world.transcript(contract);
    const { deadline } = await world.now(contract);
    for (const { at, kind } of entries) if (kind === 'bid') expect(at.getTime()).toBeLessThan(deadline);
    expect(entries.filter(({ kind }) => kind === 'late').map(({ data }) => data)).toEqual(
      Array.from({ length: 3 }, () => ({ agentId: 'cheap', lateMs: expect.any(Number), answer: 'refused' })),
    );
  });
});

describe('an announcement (S3.9)', () => {
  it('S3.9 an announcement invites at most 1,000 agents, and the contract counts the capable agents that are not invited', async () => {
    await Promise.all(
      Array.from({ length: 1_003 }, async (_, index) => {
        await replicas.given.agent({ agentId: `many-${index}`, capabilities: ['many'] });
      }),
    );
    const contract = await here.service.announce(announcement({ capabilities: ['many'] }));
    expect(contract).toMatchObject({ invited: 1_000, notInvited: 3 });
    const [announced] = await world.transcript(contract);
    expect(announced?.data).toMatchObject({ notInvited: 3 });
    await world.elapse(60_000);
    expect(await here.closer.pass()).toBe(1);
  });

  it('S3.9 rejects a capability that no agent can claim', async () => {
    const invalid = here.service.announce(announcement({ capabilities: ['c n,'] }));
    await expect(invalid).rejects.toMatchObject({ code: 'CONTRACT_INVALID' });
  });

  it.each([
    [{ price: -1, etaMs: null }, 'limits.price must be a whole number of micro-dollars from 0 to 1000000000000.'],
    [{ price: null, etaMs: 0 }, 'limits.etaMs must be a whole number from 1 to 2592000000.'],
  ])('S3.9 rejects the limits %j with the allowed range', async (limits, message) => {
    const invalid = here.service.announce(announcement({ limits }));
    await expect(invalid).rejects.toMatchObject({ code: 'CONTRACT_INVALID', message });
  });
});

describe('an award (S3.9)', () => {
  it('S3.9 an award goes to the runner-up when it is not confirmed in time, and the late confirmation is rejected', async () => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await here.closer.pass();
    await world.elapse(60_000);
    await expect(here.bidding.confirm(keyOf(contract), cheap.credential)).rejects.toMatchObject({
      code: 'CONTRACT_NOT_AWARDED',
    });
    await there.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'fast', awards: 2 });
    expect(await world.held()).toBe(9_000);
    await expect(here.bidding.confirm(keyOf(contract), cheap.credential)).rejects.toMatchObject({
      code: 'CONTRACT_NOT_AWARDED',
    });
    await here.bidding.confirm(keyOf(contract), fast.credential);
    expect(await kinds(contract)).toEqual(expect.arrayContaining(['lapsed', 'confirmed', 'lost']));
    await expectSound(replicas.here.budgets);
  });

  it('S3.9 an award skips bidders that left or registered again; if declined, it goes to the runner-up or expires', async () => {
    const gone = await replicas.given.agent({ agentId: 'gone' });
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await here.bidding.bid(keyOf(contract), gone.credential, offer({ price: 0, etaMs: 1 }));
    await replicas.here.agents.deregister(gone.credential);
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ winner: 'cheap' });
    expect(await here.bidding.decline(keyOf(contract), cheap.credential)).toMatchObject({
      state: 'awarded',
      winner: 'fast',
    });
    await replicas.given.agent({ agentId: 'fast', leaseToken: fast.leaseToken });
    await expect(here.bidding.confirm(keyOf(contract), fast.credential)).rejects.toMatchObject({
      code: 'STALE_GENERATION',
    });
    await world.elapse(60_000);
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'expired', expiryReason: 'not_confirmed', winner: null });
    expect(await world.held()).toBe(0);
  });

  it('S3.9 an award happens once, whichever replica closes the auction, and confirmation and lapse exclude each other', async () => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    const steps = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => await [here, there][index % 2].closer.pass()),
    );
    expect(steps.reduce((sum, count) => sum + count, 0)).toBe(1);
    await world.elapse(59_990);
    const race = [
      here.bidding.confirm(keyOf(contract), cheap.credential),
      world.elapse(20),
      there.closer.pass(),
      here.closer.pass(),
    ];
    const [confirmed] = await Promise.allSettled(race);
    await here.closer.pass(); // the contract may have been locked by the confirmation during the other passes
    const { winner, state } = await world.now(contract);
    expect([winner, state]).toEqual(confirmed.status === 'fulfilled' ? ['cheap', 'confirmed'] : ['fast', 'awarded']);
    expect((await world.transcript(contract)).filter(({ kind }) => kind === 'scored')).toHaveLength(1);
    await expectSound(replicas.here.budgets);
  });

  it('S3.9 an outcome settles the reservation, and the next auction scores the agent by what its work really cost', async () => {
    const award = async (): Promise<Contract> => {
      const contract = await here.service.announce(announcement());
      await here.bidding.bid(keyOf(contract), fast.credential, offer({ price: 1_300 }));
      await here.bidding.bid(keyOf(contract), cheap.credential, offer({ price: 1_000 }));
      await here.closer.pass();
      return await world.now(contract);
    };
    const first = await award();
    expect(first.winner).toBe('cheap');
    const unconfirmed = here.outcomes.record(keyOf(first), OWNER, { ok: true, microUsd: 1, tokens: 0, ms: 1 });
    await expect(unconfirmed).rejects.toMatchObject({ code: 'CONTRACT_CLOSED' });
    await here.bidding.confirm(keyOf(first), cheap.credential);
    const actual = { ok: true, microUsd: 6_000, tokens: 0, ms: 9_000 };
    const foreign = here.outcomes.record(keyOf(first), { by: 'key:other', mayManage: false }, actual);
    await expect(foreign).rejects.toMatchObject({ code: 'CONTRACT_FOREIGN' });
    expect(await here.outcomes.record(keyOf(first), OWNER, actual)).toMatchObject({ outcome: actual });
    expect(await there.outcomes.record(keyOf(first), OWNER, { ...actual, ms: null })).toMatchObject({
      outcome: actual,
    });
    const contradiction = there.outcomes.record(keyOf(first), OWNER, { ...actual, ok: false });
    await expect(contradiction).rejects.toMatchObject({ code: 'CONTRACT_CLOSED' });
    expect(await world.held()).toBe(0);
    expect((await award()).winner).toBe('fast');
    await expectSound(replicas.here.budgets);
  });

  it.each([
    ['the reported cost', { microUsd: 400, tokens: 10 }, '400'],
    ['at most ten times the reserved amount', { microUsd: 99_999, tokens: 10 }, '10000'],
  ])('S3.9 an outcome charges %s, and no tokens if none were reserved', async (_, cost, charged) => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await here.closer.pass();
    await here.bidding.confirm(keyOf(contract), cheap.credential);
    await here.outcomes.record(keyOf(contract), OWNER, { ok: true, ms: 1, ...cost });
    const [row] = await replicas.database.db.query(
      `SELECT used_micro_usd AS "microUsd", used_tokens AS tokens FROM budget WHERE kind = 'agent' AND subject = 'cheap'`,
    );
    expect(row).toEqual({ microUsd: charged, tokens: '0' });
    await expectSound(replicas.here.budgets);
  });

  it('S3.9 a cancelled contract releases its reservation; only its announcer or an operator can cancel it', async () => {
    const contract = await here.service.announce(announcement());
    await world.bothBid(contract);
    await here.closer.pass();
    const foreign = here.service.cancel(keyOf(contract), { by: 'key:other', mayManage: false });
    await expect(foreign).rejects.toMatchObject({ code: 'CONTRACT_FOREIGN' });
    expect(await here.service.cancel(keyOf(contract), OWNER)).toMatchObject({ state: 'cancelled', winner: null });
    expect(await here.service.cancel(keyOf(contract), OWNER)).toMatchObject({ state: 'cancelled' });
    await expect(here.bidding.confirm(keyOf(contract), cheap.credential)).rejects.toMatchObject({
      code: 'CONTRACT_NOT_AWARDED',
    });
    expect(await world.held()).toBe(0);
    const confirmed = await here.service.announce(announcement());
    await world.bothBid(confirmed);
    await here.closer.pass();
    await here.bidding.confirm(keyOf(confirmed), cheap.credential);
    await expect(here.service.cancel(keyOf(confirmed), OWNER)).rejects.toMatchObject({ code: 'CONTRACT_CLOSED' });
  });
});
