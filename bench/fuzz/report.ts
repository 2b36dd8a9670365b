import type { FuzzCase } from './fuzz-case.js';
import type { Fault } from './oracle.js';

interface Found extends Fault {
  operation: string;
  replay: string;
  request?: string;
  cause?: string;
  count: number;
}

const MAX_SHOWN_LENGTH = 700;
/** This many faults of one kind are printed in full. For further faults, only a line at the end is printed. */
const PRINTED_IN_FULL = 6;

/** Collects faults, one entry for each operation, kind and detail, and prints each when it first occurs. */
export class Report {
  private readonly found = new Map<string, Found>();

  constructor(private readonly seed: number) {}

  get faults(): Found[] {
    return [...this.found.values()];
  }

  /** Adds a fault of a case. */
  add(index: number, fuzzCase: FuzzCase, fault: Fault, cause?: string): void {
    const replay = `--replay ${this.seed}/${index}`;
    this.note({ ...fault, operation: fuzzCase.operation, replay, request: describeCase(fuzzCase), cause, count: 1 });
  }

  /** Adds a fault of the whole server. */
  addGlobal(fault: Fault): void {
    this.note({ ...fault, operation: 'server', replay: `<seconds> ${this.seed}`, count: 1 });
  }

  private note(found: Found): void {
    const key = `${found.operation} ${found.kind} ${found.detail}`;
    const known = this.found.get(key);
    if (known) known.count += 1;
    else {
      this.found.set(key, found);
      if (this.faults.filter(({ kind }) => kind === found.kind).length <= PRINTED_IN_FULL) print(found);
    }
  }

  printCounts(): void {
    for (const { kind, operation, detail, count, replay } of this.faults)
      console.log(`${String(count).padStart(6)} × ${kind} ${operation} ${detail} (npm run fuzz -- ${replay})`);
  }
}

function print({ kind, operation, detail, replay, request, answer, cause }: Found): void {
  console.log(`\nFAULT ${kind} ${operation} ${detail}\n  replay: npm run fuzz -- ${replay}`);
  if (request !== undefined) console.log(`  request: ${request}`);
  console.log(`  answer: ${answer}`);
  if (cause !== undefined) console.log(`  logged: ${cause}`);
}

/** The text contains slots such as `{{secret:admin}}`, never a secret. */
export function describeCase(fuzzCase: FuzzCase): string {
  const { sender, target, headers, mutations } = fuzzCase;
  const lines = headers.map(([name, value]) => `${name}: ${cut(value, 120)}`).join(' | ');
  const rest =
    fuzzCase.kind === 'http'
      ? `${fuzzCase.delivery} body: ${fuzzCase.body === undefined ? 'none' : cut(fuzzCase.body, MAX_SHOWN_LENGTH)}`
      : `frames: ${cut(JSON.stringify(fuzzCase.frames), MAX_SHOWN_LENGTH)}`;
  const method = fuzzCase.kind === 'http' ? fuzzCase.method : 'WS';
  return `[${mutations.join(', ')}] as ${sender}: ${method} ${cut(target, 400)} | ${lines} | ${rest}`;
}

function cut(text: string, longest: number): string {
  const shown = JSON.stringify(text).slice(1, -1);
  return shown.length <= longest ? shown : `${shown.slice(0, longest)}… (${text.length} characters)`;
}
