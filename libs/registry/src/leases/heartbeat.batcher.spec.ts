import { Database, DatabaseUnavailableError } from '#rollcall/platform';
import { type BeatResult, HeartbeatBatcher } from './heartbeat.batcher.js';
import type { Heartbeat, LeaseStore, RenewedLeases } from './lease.store.js';

/** A store whose batches the test completes or fails. */
class ControlledStore {
  readonly batches: PromiseWithResolvers<RenewedLeases>[] = [];

  async beatAll(): Promise<RenewedLeases> {
    const batch = Promise.withResolvers<RenewedLeases>();
    this.batches.push(batch);
    return await batch.promise;
  }
}

const detached = { detached: (work: () => unknown) => work(), counts: { add: () => undefined } };
const WRITTEN: RenewedLeases = { beatAt: 7, counted: null, moved: [] };
const beatOf = (agentId: string): Heartbeat => ({ agentId, generation: 1, tokenHash: null });

let store: ControlledStore;
let batcher: HeartbeatBatcher;
beforeEach(() => {
  store = new ControlledStore();
  batcher = new HeartbeatBatcher(detached as unknown as Database, store as unknown as LeaseStore);
});

async function beat(agentId: string): Promise<BeatResult> {
  return await new Promise((resolve) => batcher.beat(beatOf(agentId), resolve));
}

/** Waits until the batch of this number has started, and returns it. */
async function startedBatch(number: number): Promise<PromiseWithResolvers<RenewedLeases>> {
  for (;;) {
    const found = store.batches[number - 1];
    if (found) return found;
    await new Promise(setImmediate);
  }
}

describe('heartbeats that wait for the batch in progress', () => {
  it('S3.4 if the database does not answer a batch, the heartbeats that wait for the batch are rejected with it', async () => {
    const first = beat('builder');
    const batch = await startedBatch(1);
    const others = [beat('builder'), beat('builder'), beat('other')];
    const error = new DatabaseUnavailableError('no answer');
    batch.reject(error);
    const results = await Promise.all([first, ...others]);
    expect(results).toEqual(Array.from({ length: 4 }, () => ({ ok: false, error })));
    const again = beat('builder');
    (await startedBatch(2)).resolve(WRITTEN);
    expect(await again).toEqual({ ok: true, beatAt: 7 });
  });

  it('S3.4 heartbeats that wait for a batch are still written if Postgres rejects the batch', async () => {
    const first = beat('builder');
    const batch = await startedBatch(1);
    const other = beat('other');
    batch.reject(new Error('a heartbeat that Postgres rejects'));
    (await startedBatch(2)).resolve(WRITTEN);
    expect(await first).toMatchObject({ ok: false });
    expect(await other).toEqual({ ok: true, beatAt: 7 });
  });
});
