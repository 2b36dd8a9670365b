import { runStorm } from '../support/storm.js';

interface Report {
  evictedAfterHealing: number;
  consumersThatDiffer: number;
  clientsThatEnded: number;
  notRoutable: number;
  faults: Record<string, number>;
}

/**
 * The short form of `npm run storm:heal`: two storms at the same time, with one fault each. The seeds choose a replica that freezes, and
 * a Postgres that crashes.
 */
const SEEDS = ['16', '10'];
/** Seconds, seed, agents, consumers, heartbeat interval in milliseconds. */
const parametersOf = (seed: string): string[] => ['6', seed, '12', '3', '2000'];

describe('a storm of temporary faults', () => {
  it('D1 B10 D2 D3 evicts no agent afterwards, stops no documented client, and each consumer has received the whole log', async () => {
    const storms = SEEDS.map(async (seed) => await runStorm<Report>('heal-storm', parametersOf(seed), 240_000));
    const reports = await Promise.all(storms);
    const nothing = { evictedAfterHealing: 0, consumersThatDiffer: 0, clientsThatEnded: 0, notRoutable: 0 };
    for (const report of reports) expect(report).toMatchObject(nothing);
    const faults = new Set(reports.flatMap((report) => Object.keys(report.faults)));
    expect(faults.size).toBe(SEEDS.length);
  }, 260_000);
});
