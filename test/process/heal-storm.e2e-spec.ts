import { runStorm } from '../support/storm.js';

interface Report {
  evictedAfterHealing: number;
  consumersThatDiffer: number;
  clientsThatEnded: number;
  notRoutable: number;
  faults: Record<string, number>;
}

/** The short form of `npm run storm:heal`: seconds, seed, agents, consumers, heartbeat interval in milliseconds. */
const SHORT = ['30', '4', '30', '6', '2000'];

describe('a storm of temporary faults', () => {
  it('D1 B10 D2 D3 evicts no agent afterwards, stops no documented client, and each consumer has received the whole log', async () => {
    const report = await runStorm<Report>('heal-storm', SHORT, 240_000);
    expect(report).toMatchObject({
      evictedAfterHealing: 0,
      consumersThatDiffer: 0,
      clientsThatEnded: 0,
      notRoutable: 0,
    });
    expect(Object.keys(report.faults).length).toBeGreaterThanOrEqual(2);
  }, 260_000);
});
