import { parseArgs } from 'node:util';
import { testDatabase } from '#rollcall/platform/testing';
import { budgetCrashes, budgetRace } from '#rollcall/registry/testing';
import { BusyLoops } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';

/**
 * The long form of libs/registry/src/budgets/ledger/budget.storm.db.spec.ts, on a Postgres that writes to the disk.
 * `node budget-storm.js <rounds> --busy <processes that use a core each during the storm>`
 */
const { values: options, positionals } = parseArgs({
  options: { busy: { type: 'string', default: '0' } },
  allowPositionals: true,
});
const rounds = Number(positionals[0] ?? 100);
const postgres = await startPostgres();
const busy = BusyLoops.start(Number(options.busy));
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
  await busy.stop();
  await postgres.stop();
}
