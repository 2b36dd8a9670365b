/**
 * `npm run check`: formats, lints, types, arrows and the compose file are checked at the same time, one program on each processor. The
 * output of a check is printed when it ends.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The longest first. */
const CHECKS = ['lint', 'typecheck', 'arrows', 'format:check', 'compose:check'];

const waiting = [...CHECKS];
const failed = [];

/** @param {string} check @returns {Promise<void>} */
function run(check) {
  const startedAt = performance.now();
  const output = [];
  const child = spawn('npm', ['run', '--silent', check], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      console.log(`${check}: ${code === 0 ? 'passed' : 'failed'} after ${seconds} s`);
      if (code !== 0) {
        failed.push(check);
        process.stdout.write(Buffer.concat(output));
      }
      resolve();
    });
  });
}

async function worker() {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) await run(check);
}

await Promise.all(Array.from({ length: availableParallelism() }, worker));
if (failed.length > 0) {
  console.error(`Failed: ${failed.join(', ')}. Run one alone with: npm run ${failed[0]}`);
  process.exitCode = 1;
}
