import { Database, DatabaseUnavailableError } from '#rollcall/platform';
import type { BeatResult, Heartbeat } from './heartbeat.js';
import { HeartbeatBatcher } from './heartbeat.batcher.js';
import type { RenewedLeases, LeaseStore } from './lease.store.js';

/** Writes what it is told to, when it is told to. */
class SlowStore {
  readonly batches: PromiseWithResolvers<RenewedLeases>[] = [];

  async beatAll(): Promise<RenewedLeases> {
    const batch = Promise.withResolvers<RenewedLeases>();
    this.batches.push(batch);
    return await batch.promise;
  }
}

const detached: Pick<Database, 'detached'> = { detached: (work) => work() };
const WRITTEN: RenewedLeases = { beatAt: 7, counted: null, moved: [] };
const beatOf = (agentId: string): Heartbeat => ({ agentId, generation: 1, tokenHash: null });

let store: SlowStore;
let batcher: HeartbeatBatcher;
beforeEach(() => {
  store = new SlowStore();
  batcher = new HeartbeatBatcher(detached as Database, store as unknown as LeaseStore);
});

async function beat(agentId: string): Promise<BeatResult> {
  return await new Promise((resolve) => batcher.beat(beatOf(agentId), resolve));
}

/** The batch of this number, once it is under way. */
async function batchUnderWay(number: number): Promise<PromiseWithResolvers<RenewedLeases>> {
  for (;;) {
    const found = store.batches[number - 1];
    if (found) return found;
    await new Promise(setImmediate);
  }
}

describe('beats that wait behind a batch', () => {
  it('S3.4 are refused with it when the database does not answer, and not one batch after the other', async () => {
    const first = beat('builder');
    const underWay = await batchUnderWay(1);
    const others = [beat('builder'), beat('builder'), beat('other')];
    const error = new DatabaseUnavailableError('no answer');
    underWay.reject(error);
    const results = await Promise.all([first, ...others]);
    expect(results).toEqual(Array.from({ length: 4 }, () => ({ ok: false, error })));
    const again = beat('builder');
    (await batchUnderWay(2)).resolve(WRITTEN);
    expect(await again).toEqual({ ok: true, beatAt: 7 });
  });

  it('S3.4 are written when it failed for a reason of its own', async () => {
    const first = beat('builder');
    const underWay = await batchUnderWay(1);
    const other = beat('other');
    underWay.reject(new Error('a beat that Postgres does not take'));
    (await batchUnderWay(2)).resolve(WRITTEN);
    expect(await first).toMatchObject({ ok: false });
    expect(await other).toEqual({ ok: true, beatAt: 7 });
  });
});
