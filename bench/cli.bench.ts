import { spawnSync } from 'node:child_process';
import { median } from './support/compare.js';
import { requireAtMost } from './support/target.js';

/**
 * Compares the start of `rollcall --help` with that of an empty program, in turn: `npm run bench:cli -- [rounds, 15]`
 */
const [rounds = '15'] = process.argv.slice(2);
const TARGET = 4;

function startMs(...args: string[]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return performance.now() - startedAt;
}

const help = ['bin/rollcall.js', '--help'];
const bare = ['--eval', '0'];
startMs(...help); // fills the cache of compiled code
const times = Array.from({ length: Number(rounds) }, () => ({ help: startMs(...help), bare: startMs(...bare) }));
const helpMs = median(times.map((round) => round.help));
const bareMs = median(times.map((round) => round.bare));
console.log(`rollcall --help: ${helpMs.toFixed(0)} ms, an empty program: ${bareMs.toFixed(0)} ms`);
requireAtMost(TARGET, helpMs / bareMs, 'rollcall --help / bare Node');
