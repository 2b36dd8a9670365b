import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

/** Runs a storm of the `bench` folder and returns its report. If the storm fails, the error contains its output. */
export async function runStorm<Report>(name: string, parameters: string[], timeout: number): Promise<Report> {
  const program = resolve(import.meta.dirname, `../../dist/bench/${name}.js`);
  const run = promisify(execFile)(process.execPath, [program, ...parameters], { timeout });
  const { stdout } = await run.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`the storm failed: ${error.stdout}${error.stderr}`, { cause: error });
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;
}
