import { runStorm } from '../support/storm.js';

/** The short form of `npm run storm:work`. */
describe('a storm of tasks over two replicas and six agents', () => {
  it('B11 B12 replicas and agents are killed: every run ends, nothing is executed twice, no accepted result is lost', async () => {
    const report = await runStorm<Record<string, number>>('work-storm', ['30', '3', '3', '6'], 280_000);
    expect(report).toMatchObject({ unfinished: 0, executedTwice: 0, lostResults: 0, chargedWrong: 0 });
    expect(report['results']).toBeGreaterThan(15);
    expect(report['interrupted']).toBeGreaterThan(0);
  }, 290_000);
});
