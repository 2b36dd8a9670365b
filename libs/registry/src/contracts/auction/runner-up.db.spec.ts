import { AuctionWorld, keyOf } from '../../testing/auction-world.js';
import { announcement } from '../../testing/contract-parts.js';
import { expectSound } from '../../testing/test-budgets.js';
import type { Contract } from '../contract.js';

const BY_PRICE = { price: 1, eta: 0, confidence: 0, reliability: 0 };
const BY_TIME = { price: 0, eta: 1, confidence: 0, reliability: 0 };

let world: AuctionWorld;

beforeEach(async () => void (world = await AuctionWorld.start()));
afterEach(async () => await world.stop());

async function awarded(weights: typeof BY_PRICE): Promise<Contract> {
  const contract = await world.here.service.announce(announcement({ weights }));
  await world.bothBid(contract);
  await world.here.closer.pass();
  return await world.now(contract);
}

describe('awards that go to the runner-up at the same time (S3.9)', () => {
  it('S3.9 awards that lapse at the same time do not block each other, even if each winner is the runner-up of the other', async () => {
    const { here, there, replicas } = world;
    for (let round = 0; round < 5; round += 1) {
      const contracts = [await awarded(BY_PRICE), await awarded(BY_TIME)];
      expect(contracts.map(({ winner }) => winner)).toEqual(['cheap', 'fast']);
      await world.elapse(60_000);
      await Promise.all([here.closer.pass(), there.closer.pass()]);
      await here.closer.pass();
      const states = await Promise.all(contracts.map(async (contract) => await world.now(contract)));
      expect(states.map(({ state, winner }) => [state, winner])).toEqual([
        ['awarded', 'fast'],
        ['awarded', 'cheap'],
      ]);
      for (const contract of contracts)
        await here.service.cancel(keyOf(contract), { by: 'key:test', mayManage: false });
    }
    expect(await world.held()).toBe(0);
    await expectSound(replicas.here.budgets);
  });
});
