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

interface Row {
  what: string;
  wanted: string;
  measured: string;
  isMet: boolean;
}

/** The targets of a whole benchmark, printed as one table. The process exits with 1 if any target is missed. */
export class TargetTable {
  private readonly rows: Row[] = [];

  atLeast(what: string, target: number, measured: number, unit = '×'): void {
    const isMet = measured >= target;
    this.rows.push({ what, wanted: `≥ ${target}${unit}`, measured: `${measured.toFixed(2)}${unit}`, isMet });
  }

  atMost(what: string, target: number, measured: number, unit = '×'): void {
    const isMet = measured <= target;
    this.rows.push({ what, wanted: `≤ ${target}${unit}`, measured: `${measured.toFixed(2)}${unit}`, isMet });
  }

  /** Each row begins with `target:`, so that it is also in the summary of `npm run bench:all`. */
  print(): void {
    const width = Math.max(...this.rows.map(({ what }) => what.length));
    console.log('\ntargets');
    for (const { what, wanted, measured, isMet } of this.rows)
      console.log(
        `  target: ${what.padEnd(width)}  wanted ${wanted.padEnd(8)}  measured ${measured.padEnd(10)}  ${isMet ? 'met' : 'MISSED'}`,
      );
    if (this.rows.some(({ isMet }) => !isMet)) process.exitCode = 1;
  }
}
