import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `check` returns true. After `withinMs` it throws an error that contains `what`. */
export async function until(what: string, check: () => boolean | Promise<boolean>, withinMs = 45_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`condition not met within ${withinMs} ms: ${what}`);
    await delay(10);
  }
}
