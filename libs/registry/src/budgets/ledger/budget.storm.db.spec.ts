import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { budgetCrashes, budgetRace } from '../../testing/index.js';

/** `npm run storm:budget` runs the same tests at full size: 100 rounds and 100 kills, on a Postgres that writes to the disk. */
let database: TestDatabase;
beforeEach(async () => void (database = await testDatabase()));
afterEach(async () => await database.drop());

it('B2 exactly 50 of 1,000 concurrent reservations in two processes succeed on a budget for 50, in every round', async () => {
  const report = await budgetRace(database, 5, 1_000, 50);
  expect(report).toEqual({ rounds: 5, wrongRounds: 0, overshoot: 0, faults: [], discrepancies: 0 });
});

it('B2 one sweep after kill -9 between reserve and settle releases all reservations, no caller is blocked, and ledger and counters agree', async () => {
  const report = await budgetCrashes(database, 5);
  expect(report).toEqual({ kills: 5, leaked: 0, falselyBlocked: false, discrepancies: 0 });
});
