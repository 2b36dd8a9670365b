import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseRefusedError, isConnectionError, sqlState } from './database.errors.js';
import { findWritable, serversIn } from './servers.js';

/** SQLSTATEs of permanent errors, which waiting does not fix. */
const PERMANENT_ERRORS: Record<string, string> = {
  '28P01': 'the password is wrong',
  '28000': 'the user may not log in',
  '3D000': 'the database does not exist',
  '42501': 'the user may not connect',
};

/**
 * Waits until Postgres accepts connections, at most for `waitMs`: in a deployment, the database may start after
 * Rollcall. A permanent error is reported immediately, with a message that contains the address without the password.
 * `onWait` is called when the reason changes, not for every attempt. `setting` contains the URL.
 */
export async function waitForPostgres(
  url: string,
  waitMs: number,
  onWait: (reason: string) => void,
  setting = 'DATABASE_URL',
): Promise<void> {
  const deadline = performance.now() + waitMs;
  let reported: string | undefined;
  for (;;) {
    const problem = await tryConnect(url);
    if (!problem) return;
    const reason = `Cannot use Postgres at ${withoutPassword(url)}: ${problem.reason}.`;
    if (!problem.isTransient || performance.now() > deadline)
      throw new DatabaseRefusedError(`${reason} Check ${setting}.`);
    if (reason !== reported) onWait(reason);
    reported = reason;
    await delay(500);
  }
}

async function tryConnect(url: string): Promise<{ reason: string; isTransient: boolean } | undefined> {
  try {
    await findWritable(url, { connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
    return undefined;
  } catch (error) {
    const state = sqlState(error) ?? '';
    const message = error instanceof AggregateError ? String(error.errors[0]) : String(error);
    return {
      reason: PERMANENT_ERRORS[state] ?? message,
      isTransient: !(state in PERMANENT_ERRORS) && isTransient(error),
    };
  }
}

function isTransient(error: unknown): boolean {
  return isConnectionError(error) || (error instanceof Error && /timeout/.test(error.message));
}

/** Omits the password, and the query, which can contain a password too. */
function withoutPassword(url: string): string {
  const servers = serversIn(url).map((server) => new URL(server));
  const [{ protocol, username, pathname }] = servers;
  return `${protocol}//${username && `${username}@`}${servers.map(({ host }) => host).join()}${pathname}`;
}
