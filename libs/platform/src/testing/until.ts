import { setTimeout as delay } from 'node:timers/promises';

/** Waits for something to become true, and says what it waited for when it does not. */
export async function until(what: string, check: () => boolean | Promise<boolean>, withinMs = 45_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain until ${what}`);
    await delay(20);
  }
}
