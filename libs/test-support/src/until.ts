import { setTimeout as delay } from 'node:timers/promises';

const CHECK_EVERY_MS = 20;

/** Waits until the check passes. After `withinMs` it throws an error that names the condition. */
export async function until(what: string, check: () => boolean | Promise<boolean>, withinMs = 45_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`condition not met within ${withinMs} ms: ${what}`);
    await delay(CHECK_EVERY_MS);
  }
}
