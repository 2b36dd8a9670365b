import { until } from '#rollcall/test-support';
import { TwoReplicas } from '../testing/two-replicas.js';
import { suspectAfterMs, DEFAULT_LEASE_POLICY } from './lease.policy.js';

let replicas: TwoReplicas;
beforeEach(async () => (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

async function isLockAwaited(): Promise<boolean> {
  const { db } = replicas.database;
  const rows = await db.detached(async () => await db.query('SELECT 1 FROM pg_locks WHERE NOT granted'));
  return rows.length > 0;
}

describe('the row locks of leases', () => {
  it('S3.4 an agent deregisters while a sweep suspects it, without a deadlock', async () => {
    const { here, there, database } = replicas;
    const joined = await replicas.given.agent({ agentId: 'a-1' });
    for (const agentId of ['b-1', 'b-2', 'b-3']) await replicas.given.agent({ agentId });
    await there.sweeper.sweep();
    await replicas.silence(suspectAfterMs(DEFAULT_LEASE_POLICY) + 1_000, 'a-1');
    const sweep = Promise.withResolvers<unknown>();
    const deregistration = database.db.transaction(async () => {
      await database.db.query(`SELECT FROM agent WHERE agent_id = 'a-1' FOR UPDATE`); // the first lock of every deregistration
      there.sweeper.sweep().then(sweep.resolve, sweep.reject);
      await Promise.race([until('the sweep waits for a lock', isLockAwaited), sweep.promise]);
      await here.agents.deregister(joined.credential);
    });
    const [left, swept] = await Promise.allSettled([deregistration, sweep.promise]);
    expect([left.status, swept.status]).toEqual(['fulfilled', 'fulfilled']);
  });
});
