import { eventStorm, testDatabase } from '#rollcall/registry/testing';
import { startPostgres } from './support/postgres.js';

/** The long form of libs/registry/src/events/event.storm.db.spec.ts, on a Postgres that writes to the disk. */
const seconds = Number(process.argv[2] ?? 60);
const postgres = await startPostgres();
try {
  const database = await testDatabase({ poolSize: 18 });
  const report = await eventStorm(database, {
    durationMs: seconds * 1_000,
    writers: 32,
    agents: 40,
    killEveryMs: 150,
  });
  await database.drop();
  console.log(JSON.stringify(report));
  const sound = report.gaps === 0 && report.wrongAgents.length === 0 && report.logged >= report.acknowledged;
  if (!sound) process.exitCode = 1;
} finally {
  await postgres.stop();
}
