/** Gives the event log a new epoch, so that cursors from before a restore are rejected. Run it before the replicas start. */
import { Client } from 'pg';
import { pino } from 'pino';
import { launchPostgres } from '../dist/apps/api/src/boot/postgres.js';
import { loadConfig } from '../dist/apps/api/src/config/config.loader.js';

const RENEW = 'UPDATE event_counter SET epoch = left(gen_random_uuid()::text, 8) RETURNING epoch';

try {
  const postgres = await launchPostgres(loadConfig(process.env, process.cwd()), pino({ level: 'warn' }));
  const client = new Client({ connectionString: postgres.url });
  try {
    await postgres.ready();
    await client.connect();
    const { rows } = await client.query(RENEW);
    console.log(`The new epoch of the event log is ${rows[0].epoch}.`);
  } finally {
    await client.end();
    await postgres.stop();
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
