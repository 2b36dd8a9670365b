import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

interface Report {
  evictedAfterHealing: number;
  consumersThatDiffer: number;
  clientsThatEnded: number;
  notRoutable: number;
  faults: Record<string, number>;
}

const STORM = resolve(import.meta.dirname, '../../dist/bench/heal-storm.js');

/** The short form of `npm run storm:heal`: seconds, seed, agents, consumers, heartbeat interval in milliseconds. */
const SHORT = ['30', '4', '30', '6', '2000'];

describe('a storm of temporary faults', () => {
  it('D1 B10 D2 D3 evicts no agent afterwards, stops no documented client, and each consumer has received the whole log', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [STORM, ...SHORT], { timeout: 240_000 });
    const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;
    expect(report).toMatchObject({
      evictedAfterHealing: 0,
      consumersThatDiffer: 0,
      clientsThatEnded: 0,
      notRoutable: 0,
    });
    expect(Object.keys(report.faults).length).toBeGreaterThanOrEqual(2);
  }, 260_000);
});
