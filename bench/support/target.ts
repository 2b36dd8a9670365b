import { ratioOf, type Score } from './compare.js';

/** Prints a target and the measured value. The process exits with 1 if any target is missed. */
export function requireAtLeast(target: number, measured: number, what: string): void {
  const isMet = measured >= target;
  console.log(`  target: ${what} ≥ ${target}; measured ${measured.toFixed(2)}: ${isMet ? 'met' : 'MISSED'}`);
  if (!isMet) process.exitCode = 1;
}

/** Like `requireAtLeast`, for a value that must not be larger. */
export function requireAtMost(target: number, measured: number, what: string): void {
  const isMet = measured <= target;
  console.log(`  target: ${what} ≤ ${target}; measured ${measured.toFixed(2)}: ${isMet ? 'met' : 'MISSED'}`);
  if (!isMet) process.exitCode = 1;
}

/** The target is a multiple of the other contestant's rate, in the same rounds. */
export function requireRatio(target: number, ours: Score | undefined, other: Score | undefined): void {
  if (!ours || !other) throw new Error('a target needs two scores');
  requireAtLeast(target, ratioOf(ours, other), `${ours.name} / ${other.name}`);
}
