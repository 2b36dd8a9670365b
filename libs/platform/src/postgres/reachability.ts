import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { isConnectionError, sqlState } from './database.errors.js';
import { DatabaseRefusedError } from './migrator.js';

/** SQLSTATEs that mean "you", not "not yet": wrong password, no such user, no such database, no right to connect. */
const REFUSALS: Record<string, string> = {
  '28P01': 'the password is wrong',
  '28000': 'the user may not log in',
  '3D000': 'the database does not exist',
  '42501': 'the user may not connect',
};

/**
 * Waits until Postgres takes connections, for `waitMs` at most: in a deployment the database may well start after us.
 * What waiting cannot mend fails at once, with a message that names everything but the password. `onWait` hears
 * each reason once, not every attempt.
 */
export async function waitForPostgres(url: string, waitMs: number, onWait: (reason: string) => void): Promise<void> {
  const deadline = performance.now() + waitMs;
  let told: string | undefined;
  for (;;) {
    const problem = await tryConnect(url);
    if (!problem) return;
    const reason = `Cannot use Postgres at ${placeOf(url)}: ${problem.reason}.`;
    if (!problem.mayPass || performance.now() > deadline)
      throw new DatabaseRefusedError(`${reason} Check DATABASE_URL.`);
    if (reason !== told) onWait(reason);
    told = reason;
    await delay(500);
  }
}

async function tryConnect(url: string): Promise<{ reason: string; mayPass: boolean } | undefined> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  client.on('error', () => undefined); // a connection that breaks after it was made shows up as a failed query
  try {
    await client.connect();
    await client.query('SELECT 1');
    await client.end();
    return undefined;
  } catch (error) {
    const state = sqlState(error) ?? '';
    const message = error instanceof AggregateError ? String(error.errors[0]) : String(error);
    return { reason: REFUSALS[state] ?? message, mayPass: !(state in REFUSALS) && mayPass(error) };
  }
}

function mayPass(error: unknown): boolean {
  return isConnectionError(error) || (error instanceof Error && /timeout/.test(error.message));
}

/** No query: a password may be written there too. */
function placeOf(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username && `${username}@`}${host}${pathname}`;
}
