import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface SuiteEntry {
  name: string;
  /** The program in dist/bench, without `.js`. */
  program: string;
  /** What the program does, in a few words. */
  about: string;
  args?: readonly string[];
  /** The arguments of a short run; by default the arguments of a full run. */
  smallArgs?: readonly string[];
}

export interface SuiteResult {
  name: string;
  passed: boolean;
  seconds: number;
  /** The lines that state the result: the targets, or the last line. */
  lines: readonly string[];
}

const TARGET = /^\s*target: /;

/**
 * Runs programs one after another, shows their output, and prints a summary. The process exits with 1 if a program fails.
 * `--small` selects short runs; any other argument selects the program with that name.
 */
export async function runSuite(entries: readonly SuiteEntry[], given: readonly string[]): Promise<void> {
  const chosen = select(entries, given);
  const results: SuiteResult[] = [];
  for (const [index, entry] of chosen.entries()) {
    console.log(`\n[${index + 1}/${chosen.length}] ${entry.name}: ${entry.about}`);
    results.push(await run(entry, given.includes('--small')));
  }
  console.log(`\n${summary(results)}`);
  if (results.some(({ passed }) => !passed)) process.exitCode = 1;
}

export function select(entries: readonly SuiteEntry[], given: readonly string[]): SuiteEntry[] {
  const names = given.filter((one) => !one.startsWith('--'));
  const unknown = [
    ...names.filter((name) => !entries.some((entry) => entry.name === name)),
    ...given.filter((one) => one.startsWith('--') && one !== '--small'),
  ];
  if (unknown.length > 0) {
    throw new Error(`${unknown.join(', ')} is unknown. Use --small or: ${entries.map(({ name }) => name).join(', ')}`);
  }
  return entries.filter(({ name }) => names.length === 0 || names.includes(name));
}

async function run({ name, program, args = [], smallArgs = args }: SuiteEntry, small: boolean): Promise<SuiteResult> {
  const started = performance.now();
  const file = fileURLToPath(new URL(`../${program}.js`, import.meta.url));
  const child = spawn(process.execPath, [file, ...(small ? smallArgs : args)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'close');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(`  ${line}`);
    if (line.trim() !== '') lines.push(line.trim());
  }
  const [code] = (await exit) as [number | null];
  const targets = lines.filter((line) => TARGET.test(line));
  const seconds = Math.round((performance.now() - started) / 1_000);
  return { name, passed: code === 0, seconds, lines: targets.length > 0 ? targets : lines.slice(-1) };
}

const MAX_WIDTH = 140;

export function summary(results: readonly SuiteResult[]): string {
  const width = Math.max(...results.map(({ name }) => name.length));
  const rows = results.flatMap(({ name, passed, seconds, lines }) => {
    const head = `${name.padEnd(width)}  ${passed ? 'passed' : 'FAILED'}  ${`${seconds} s`.padStart(6)}  `;
    const shown = lines.map((line) => (line.length > MAX_WIDTH ? `${line.slice(0, MAX_WIDTH)}…` : line));
    return [head + (shown[0] ?? ''), ...shown.slice(1).map((line) => ' '.repeat(head.length) + line)];
  });
  const failed = results.filter(({ passed }) => !passed).length;
  return [...rows, '', failed === 0 ? `All ${results.length} passed.` : `${failed} of ${results.length} failed.`].join(
    '\n',
  );
}
