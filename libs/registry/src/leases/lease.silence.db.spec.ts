import * as fc from 'fast-check';
import { TwoReplicas } from '../testing/two-replicas.js';
import { leaseTtlMs, suspectAfterMs, DEFAULT_LEASE_POLICY } from './lease.policy.js';
import { LeaseStore } from './lease.store.js';
import { DEFAULT_PROTECTION_POLICY } from './protection.state.js';

/** Real time passes between the statements of a run: a state that changes within this time is accepted too. */
const CLOSE_MS = 5_000;
const TTL_MS = leaseTtlMs(DEFAULT_LEASE_POLICY);
/** The longest interval that the lease policy allows: two sweeps are never that far apart by accident. */
const SWEEP_EVERY_MS = DEFAULT_LEASE_POLICY.intervalMs;

let replicas: TwoReplicas;
let leases: LeaseStore;
beforeEach(async () => {
  replicas = await TwoReplicas.start({
    protection: { ...DEFAULT_PROTECTION_POLICY, sweepEveryMs: SWEEP_EVERY_MS },
  });
  leases = new LeaseStore(replicas.database.db);
  await replicas.given.agent({ agentId: 'a-1' });
});
afterEach(async () => await replicas.stop());

type State = 'active' | 'suspect' | 'expired';

async function state(): Promise<State> {
  const { suspect, expired } = await leases.fleetFacts(DEFAULT_LEASE_POLICY);
  return expired > 0 ? 'expired' : suspect > 0 ? 'suspect' : 'active';
}

function stateAfter(silentMs: number): State {
  return silentMs >= TTL_MS ? 'expired' : silentMs >= suspectAfterMs(DEFAULT_LEASE_POLICY) ? 'suspect' : 'active';
}

/**
 * Makes the agent silent for this time and forgives these gaps in it, each of which begins `after` ms after the end of the previous gap.
 * Returns the forgiven time.
 */
async function silentWith(silentMs: number, gaps: readonly { after: number; length: number }[]): Promise<number> {
  const { db } = replicas.database;
  await db.query('UPDATE registry_protection SET forgiven_ms = 0, forgiven_until = NULL');
  await db.query(
    `UPDATE agent_lease SET forgiven_ms = 0, last_beat_at = clock_timestamp() - $1 * interval '1 millisecond'`,
    [silentMs],
  );
  const { now } = await leases.fleetFacts(DEFAULT_LEASE_POLICY);
  let at = now - silentMs;
  let lost = 0;
  for (const { after, length } of gaps) {
    const [from, to] = [at + after, at + after + length];
    if (to > now) break;
    await leases.forgive({ from, to });
    [at, lost] = [to, lost + length];
  }
  return lost;
}

describe('the silence of a lease', () => {
  it('S3.4 B5 the silence of a lease does not include time in which no heartbeat could arrive, wherever that time lies', async () => {
    const gap = fc.record({ after: fc.nat(20_000), length: fc.nat(40_000) });
    await fc.assert(
      fc.asyncProperty(fc.nat(3 * TTL_MS), fc.array(gap, { maxLength: 4 }), async (silentMs, gaps) => {
        const counted = silentMs - (await silentWith(silentMs, gaps));
        expect([stateAfter(counted), stateAfter(counted + CLOSE_MS)]).toContain(await state());
      }),
      { numRuns: 60 },
    );
  });

  it('S3.4 checks each lease about once per interval, whatever the number of replicas', async () => {
    const { here, there } = replicas;
    expect([(await here.sweeper.sweepIfDue()).swept, (await there.sweeper.sweepIfDue()).swept]).toEqual([true, false]);
    await replicas.database.db.query(
      `UPDATE registry_protection SET state = jsonb_set(state, '{lastSweepAt}', to_jsonb((state->>'lastSweepAt')::float8 - $1))`,
      [SWEEP_EVERY_MS],
    );
    expect((await there.sweeper.sweepIfDue()).swept).toBe(true);
  });
});
