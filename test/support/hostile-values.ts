import { setTimeout as delay } from 'node:timers/promises';

const SIZE = 100_000;

/**
 * Strings of 100 KB that make a rule with quadratic run time visible: many repetitions of a character that rules match,
 * with and without an end that prevents the match.
 */
export const HOSTILE_STRINGS: Record<string, string> = {
  ...Object.fromEntries(
    [' ', '.', '0', 'a', 'T', 'Z', '-', '_', '/', ':', ',', '\\', '"', '%', '=', '\t'].flatMap((unit) => [
      [`${JSON.stringify(unit)} only`, unit.repeat(SIZE)],
      [`${JSON.stringify(unit)} with another end`, `a${unit.repeat(SIZE)}!`],
    ]),
  ),
  'blank and dot': ' .'.repeat(SIZE / 2),
  'blanks around words': 'a '.repeat(SIZE / 2),
  'words and dots': 'a.'.repeat(SIZE / 2),
  'a date that does not end': `2027-06-30T00:00:00.${'0'.repeat(SIZE)}`,
  'a date with many times': `2027-06-30${'T00:00'.repeat(SIZE / 6)}+`,
  'a URL of many names': `https://${'a.'.repeat(SIZE / 2)}example/`,
  'a URL of many users': `https://${'a@'.repeat(SIZE / 2)}example/`,
  'a number of many digits': `1e${'9'.repeat(SIZE)}`,
  'letters of four bytes': '😀'.repeat(SIZE / 2),
  'letters with accents': 'e\u0301'.repeat(SIZE / 2),
  'a letter that grows in lower case': 'İ'.repeat(SIZE),
  'line separators': '\u2028'.repeat(SIZE),
  'JSON in JSON': '{"a":['.repeat(SIZE / 6),
};

export const HOSTILE_LISTS: Record<string, unknown[]> = {
  'the same text': Array.from({ length: SIZE }, () => 'a'),
  'different texts': Array.from({ length: SIZE }, (_, index) => `a${index}`),
  numbers: Array.from({ length: SIZE }, (_, index) => index),
  'empty objects': Array.from({ length: SIZE }, () => ({})),
};

/** Returns an object with 100,000 keys. */
export function manyKeys(): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: SIZE }, (_, index) => [`key${index}`, index]));
}

const TRIES = 40;
/** Work that takes this many times the limit is slow on every machine; more tries cannot change that. */
const TOO_SLOW_FACTOR = 20;

/**
 * Returns how many milliseconds the work takes at best: a busy machine delays some tries, a slow rule delays all of them. Time in
 * which this process did not run does not count. Stops at the first try within the limit.
 */
export async function quickest(limitMs: number, work: () => unknown): Promise<number> {
  let best = Infinity;
  for (let tries = 0; tries < TRIES && best > limitMs; tries++) {
    if (tries > 0) await delay(100);
    best = Math.min(best, await cpuMs(work));
    if (best > TOO_SLOW_FACTOR * limitMs) break;
  }
  return best;
}

async function cpuMs(work: () => unknown): Promise<number> {
  const started = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return Math.min(performance.now() - started, (user + system) / 1_000);
}
