import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';

const MAX_ATTEMPTS = 10;
const DELAY_MS = 300;

/** Whether the database could not be used, which says nothing about the work. */
export function isTemporary(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError;
}

/** Repeats work that failed with a temporary error. The work must be idempotent. */
export async function repeated(work: () => Promise<unknown>, delayMs = DELAY_MS): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isTemporary(error) || attempt === MAX_ATTEMPTS) throw error;
    }
    await delay(delayMs, undefined, { ref: false });
  }
}
