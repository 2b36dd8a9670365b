import { runStorm } from '../support/storm.js';

/** The short form of `npm run storm:client`. */
describe('a storm of the TypeScript client over two replicas', () => {
  it('N-5 connections are cut and replicas are killed: each call has one effect, no event or task is lost or repeated', async () => {
    const report = await runStorm<Record<string, number>>('client-storm', ['40', '2', '8'], 120_000);
    const faults = { missing: 0, repeated: 0, followedWrong: 0, executedTwice: 0, notCompleted: 0 };
    expect(report).toMatchObject({ calls: 40, runs: 8, ...faults });
    expect(report['cuts']).toBeGreaterThan(5);
  }, 130_000);
});
