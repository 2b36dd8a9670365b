import { DEFAULT_SPENDING_LIMITS } from '../../budgets/ledger/spending.limits.js';
import { AuctionWorld, keyOf, offer } from '../../testing/auction-world.js';
import { announcement } from '../../testing/contract-parts.js';

const HOUR_MS = 3_600_000;
const LIMITS = { ...DEFAULT_SPENDING_LIMITS, longestMs: HOUR_MS };

let world: AuctionWorld;

beforeEach(async () => void (world = await AuctionWorld.start({ budgets: { limits: LIMITS } })));
afterEach(async () => await world.stop());

describe('the limits of one reservation (S3.9)', () => {
  it('S3.9 an agent can win with work that outlasts the longest reservation; its reservation lasts as long as allowed', async () => {
    const { here, cheap, fast, replicas } = world;
    const contract = await here.service.announce(announcement());
    await here.bidding.bid(keyOf(contract), cheap.credential, offer({ etaMs: 2 * HOUR_MS }));
    await here.bidding.bid(keyOf(contract), fast.credential, { refuse: true, note: null });
    await here.closer.pass();
    expect(await world.now(contract)).toMatchObject({ state: 'awarded', winner: 'cheap' });
    const [row] = await replicas.database.db.query<{ ms: number }>(
      `SELECT extract(epoch FROM expires_at - clock_timestamp())::float8 * 1000 AS ms FROM budget_reservation WHERE state = 'held'`,
    );
    expect(row?.ms).toBeGreaterThan(HOUR_MS / 2);
    expect(row?.ms).toBeLessThanOrEqual(HOUR_MS);
  });

  it('S3.9 an announcement is rejected if no award could reserve its amount', async () => {
    const { tokens, microUsd } = LIMITS.largest;
    for (const reserve of [
      { tokens: tokens + 1, microUsd: null, runId: null },
      { tokens: 0, microUsd: microUsd + 1, runId: null },
    ])
      await expect(world.here.service.announce(announcement({ reserve }))).rejects.toMatchObject({
        code: 'CONTRACT_INVALID',
        message: expect.stringContaining('which is the limit of one reservation'),
      });
    expect(
      await world.here.service.announce(announcement({ reserve: { tokens, microUsd, runId: null } })),
    ).toMatchObject({
      state: 'announced',
    });
  });
});
