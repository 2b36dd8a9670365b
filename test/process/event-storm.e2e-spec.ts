import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

interface Report {
  acknowledged: number;
  kills: number;
  logged: number;
  gaps: number;
  wrongAgents: string[];
  consumer: { kills: number; events: number; wrong: number; sameAsLog: boolean };
}

const STORM = resolve(import.meta.dirname, '../../dist/bench/event-storm.js');

/** If the storm fails, the error contains its output. */
async function storm(...parameters: string[]): Promise<Report> {
  const run = promisify(execFile)(process.execPath, [STORM, ...parameters], { timeout: 240_000 });
  const { stdout } = await run.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`the storm failed: ${error.stdout}${error.stderr}`, { cause: error });
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;
}

/** The short form of `npm run storm:events`. */
describe('a storm of events over three processes', () => {
  it('B3 three processes neither lose nor repeat an event, and a consumer that is killed 20 times receives exactly the log', async () => {
    const report = await storm('5', '20');
    expect(report).toMatchObject({ gaps: 0, wrongAgents: [] });
    expect(report.consumer).toEqual({ kills: 20, events: report.logged, wrong: 0, sameAsLog: true });
    expect(report.logged).toBeGreaterThanOrEqual(report.acknowledged);
    expect(report.acknowledged).toBeGreaterThan(100);
    expect(report.kills).toBeGreaterThan(10);
  }, 250_000);
});
