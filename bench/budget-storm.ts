import { testDatabase } from '#rollcall/platform/testing';
import { budgetCrashes, budgetRace } from '#rollcall/registry/testing';
import { startPostgres } from './support/postgres.js';

/** The long form of libs/registry/src/budgets/budget.storm.db.spec.ts, on a Postgres that writes to the disk. */
const rounds = Number(process.argv[2] ?? 100);
const postgres = await startPostgres();
try {
  const database = await testDatabase();
  const race = await budgetRace(database, rounds, 1_000, 50);
  console.log(JSON.stringify(race));
  await database.drop();
  const second = await testDatabase();
  const crashes = await budgetCrashes(second, rounds);
  console.log(JSON.stringify(crashes));
  await second.drop();
  const isExact = race.wrongRounds + race.overshoot + race.discrepancies + race.faults.length === 0;
  const isWhole = crashes.leaked + crashes.discrepancies === 0 && !crashes.falselyBlocked;
  if (!isExact || !isWhole) process.exitCode = 1;
} finally {
  await postgres.stop();
}
