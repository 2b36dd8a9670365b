import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { ContractStorm } from '../support/contract-storm.js';
import { newFolder } from '../support/process.js';
import { Replicas } from '../support/replicas.js';

const KEY = 'k'.repeat(40);
/** The measured run of the requirement has 200 auctions and 10 kills. */
const AUCTIONS = Number(process.env['ROLLCALL_TEST_AUCTIONS'] ?? 30);
const KILLS = Number(process.env['ROLLCALL_TEST_AUCTION_KILLS'] ?? 1);
const AT_A_TIME = 10;
const BIDDERS = 10;

let folder: string;
let url: string;
let client: Client;
let replicas: Replicas;

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  const environment = {
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_HEARTBEAT_EVERY: '10m', // no bidder is evicted: bidders leave only when the storm removes them
    ROLLCALL_RATE_LIMIT: '0',
    ROLLCALL_CONCURRENT_REQUESTS: '0',
  };
  replicas = await Replicas.start(1, environment);
  await replicas.add();
  client = new Client({ connectionString: url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await replicas.end();
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

async function rows<Row extends object>(sql: string): Promise<Row[]> {
  return (await client.query<Row>(sql)).rows;
}

/** Runs all auctions, a few at a time, and kills replicas while they run. */
async function run(storm: ContractStorm): Promise<void> {
  let [started, ended] = [0, 0];
  const work = async (): Promise<void> => {
    while (started < AUCTIONS) {
      started += 1;
      await storm.auction();
      ended += 1;
    }
  };
  const kill = async (): Promise<void> => {
    for (let count = 0; count < KILLS; count += 1) {
      const after = ((count + 0.5) * AUCTIONS) / (KILLS + 1);
      await until('some auctions have ended', () => ended >= after, 300_000);
      await replicas.killAndStart(count % 2);
    }
  };
  await Promise.all([kill(), ...Array.from({ length: AT_A_TIME }, work)]);
}

const TRANSCRIPTS = `
  SELECT c.id, c.state, c.winner, c.expiry_reason AS reason,
    count(*) FILTER (WHERE e.kind = 'confirmed')::int AS confirmed, count(*) FILTER (WHERE e.kind = 'expired')::int AS expired,
    count(*) FILTER (WHERE e.kind = 'scored')::int AS scored,
    coalesce(max(e.number) FILTER (WHERE e.kind IN ('bid', 'refused')), 0) AS "lastBid",
    coalesce(min(e.number) FILTER (WHERE e.kind = 'scored'), 1000000) AS opened
  FROM contract c JOIN contract_entry e ON e.contract_id = c.id GROUP BY c.seq, c.id`;

interface Transcript {
  id: string;
  state: string;
  winner: string | null;
  reason: string | null;
  confirmed: number;
  expired: number;
  scored: number;
  lastBid: number;
  opened: number;
}

describe('a storm of auctions on two replicas that are killed', () => {
  it(
    'S3.9 each auction has exactly one confirmed award or an explicit end, accepts no late bid, and the ledger equals the counters',
    async () => {
      const storm = new ContractStorm(replicas, KEY);
      await storm.join(BIDDERS);
      await run(storm);
      const { report } = storm;
      await until('every contract has ended', async () => {
        const open = await rows('SELECT 1 FROM contract WHERE ended_at IS NULL');
        return open.length === 0;
      });
      expect(report.faults).toEqual([]);
      const contracts = await rows<Transcript>(TRANSCRIPTS);
      expect(contracts.length).toBeGreaterThanOrEqual(AUCTIONS);
      const states = contracts.map(({ state, reason }) => `${state} ${reason ?? ''}`.trim());
      const ends = Object.entries(Object.groupBy(states, (one) => one)).map(([end, all]) => `${end}: ${all?.length}`);
      process.stdout.write(
        `${contracts.length} auctions, ${KILLS} kills: ${ends.join(', ')}; ${JSON.stringify(report.sent)}\n`,
      );
      for (const { state, winner, reason, confirmed, expired, scored, lastBid, opened } of contracts) {
        expect(['confirmed', 'expired', 'cancelled']).toContain(state);
        expect([confirmed, winner !== null]).toEqual(state === 'confirmed' ? [1, true] : [0, false]);
        expect([expired, reason !== null]).toEqual(state === 'expired' ? [1, true] : [0, false]);
        expect(scored).toBeLessThanOrEqual(1);
        expect(lastBid).toBeLessThan(opened);
      }
      const winners = new Map(contracts.map(({ id, winner }) => [id, winner]));
      for (const [id, agents] of report.confirmed)
        for (const agent of agents) expect([id, winners.get(id)]).toEqual([id, agent]);
      const won = contracts.filter(({ state }) => state === 'confirmed');
      expect(won.length).toBeGreaterThan(AUCTIONS / 10);
      await expectSound(won.map(({ id }) => id));
    },
    180_000 + AUCTIONS * 3_000 + KILLS * 60_000,
  );
});

/** Only confirmed awards have a reservation, each outcome charges exactly the reported amount, and each contract has one final event. */
async function expectSound(confirmed: readonly string[]): Promise<void> {
  const held = await rows<{ key: string }>(`SELECT key FROM budget_reservation WHERE state = 'held'`);
  expect(held.map(({ key }) => key.split('-')[1]).toSorted()).toEqual(confirmed.toSorted());
  for (const id of confirmed) {
    const body = { ok: true, microUsd: 1, tokens: 0, ms: 5 };
    expect((await replicas.call('POST', `/v1/contracts/${id}/outcome`, { key: KEY, body })).status).toBe(200);
  }
  expect(await rows(`SELECT 1 FROM budget_reservation WHERE state = 'held'`)).toEqual([]);
  const [used] = await rows<{ used: string }>(
    `SELECT coalesce(sum(used_micro_usd), 0) AS used FROM budget WHERE kind = 'agent'`,
  );
  expect(Number(used?.used)).toBe(confirmed.length);
  const { body } = await replicas.call('GET', '/v1/budgets/reconciliation', { key: KEY });
  expect(body).toMatchObject({ discrepancies: [] });
  await until('all events are in the log', async () => (await rows('SELECT 1 FROM event_staging')).length === 0);
  const twice = `SELECT subject FROM event_log WHERE type IN ('contract.confirmed', 'contract.expired', 'contract.cancelled')
    GROUP BY subject HAVING count(*) <> 1`;
  expect(await rows(twice)).toEqual([]);
}
