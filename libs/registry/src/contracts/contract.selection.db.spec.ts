import { getEventListeners } from 'node:events';
import { AuctionWorld } from '../testing/auction-world.js';
import { announcement } from '../testing/contract-parts.js';

let world: AuctionWorld;

beforeEach(async () => void (world = await AuctionWorld.start()));
afterEach(async () => await world.stop());

describe('a wait for the end of a contract (S3.9)', () => {
  it('S3.9 a wait that ends without an abort leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    const contract = await world.here.service.announce(announcement());
    expect(await world.here.waits.ended(contract, 1, signal)).toMatchObject({ state: 'announced' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('S3.9 a wait ends with the current state of the contract when its signal is aborted', async () => {
    const controller = new AbortController();
    const contract = await world.here.service.announce(announcement());
    const wait = world.here.waits.ended(contract, 60_000, controller.signal);
    controller.abort();
    expect(await wait).toMatchObject({ state: 'announced' });
  });
});
