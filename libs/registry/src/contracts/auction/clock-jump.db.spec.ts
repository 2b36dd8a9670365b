import { AuctionWorld } from '../../testing/auction-world.js';
import { announcement } from '../../testing/contract-parts.js';
import type { Contract } from '../contract.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let world: AuctionWorld;

beforeEach(async () => {
  world = await AuctionWorld.start();
  await world.replicas.here.sweeper.sweep();
});
afterEach(async () => await world.stop());

/** Simulates a database clock that is set back: moves all stored times into the future. */
async function setClockBack(ms: number): Promise<void> {
  const { db } = world.replicas.database;
  await world.replicas.elapse(-ms);
  await world.elapse(-ms);
  await db.query(
    `UPDATE contract SET announced_at = announced_at + $1 * interval '1 millisecond',
       awarded_at = awarded_at + $1 * interval '1 millisecond'`,
    [ms],
  );
  await db.query(`UPDATE contract_notice SET due_at = due_at + $1 * interval '1 millisecond'`, [ms]);
}

/** The remaining time of a contract, in whole minutes. */
async function minutesLeft({ id }: Contract): Promise<unknown> {
  const minutes = (column: string): string => `round(extract(epoch FROM ${column} - clock_timestamp()) / 60)::integer`;
  const [row] = await world.replicas.database.db.query(
    `SELECT ${minutes('deadline')} AS "toBid", ${minutes('confirm_by')} AS "toConfirm", ${minutes('due_at')} AS "toNextStep"
     FROM contract WHERE id = $1`,
    [id],
  );
  return row;
}

describe('a database clock that is set back during an auction (S3.9)', () => {
  it('D4 contracts keep the remaining time to bid and to confirm when the clock is set back', async () => {
    const { here, replicas } = world;
    const awarded = await here.service.announce(announcement({ confirmWithinMs: 2 * MINUTE_MS }));
    await world.bothBid(awarded);
    await here.closer.pass();
    const open = await here.service.announce(announcement({ bidWithinMs: 3 * MINUTE_MS }));
    await setClockBack(HOUR_MS);
    await replicas.here.sweeper.sweep();
    expect(await minutesLeft(awarded)).toEqual({ toBid: 1, toConfirm: 2, toNextStep: 2 });
    expect(await minutesLeft(open)).toEqual({ toBid: 3, toConfirm: null, toNextStep: 3 });
  });

  it('D4 a contract that is announced after the clock was set back, and before a sweep detects it, keeps its deadline', async () => {
    const { here, replicas } = world;
    await setClockBack(HOUR_MS);
    const contract = await here.service.announce(announcement({ bidWithinMs: 3 * MINUTE_MS }));
    await replicas.here.sweeper.sweep();
    expect(await minutesLeft(contract)).toEqual({ toBid: 3, toConfirm: null, toNextStep: 3 });
  });

  it('D4 a notice that was due stays due when the clock is set back', async () => {
    const { db } = world.replicas.database;
    await db.query(`INSERT INTO contract_notice (contract_id, agent_id, kind) VALUES ('one', 'fast', 'bid')`);
    await setClockBack(HOUR_MS);
    await world.replicas.here.sweeper.sweep();
    const due = await db.query('SELECT kind FROM contract_notice WHERE due_at <= clock_timestamp()');
    expect(due).toEqual([{ kind: 'bid' }]);
  });
});
