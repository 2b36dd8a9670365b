import { runStorm } from '../support/storm.js';

interface Report {
  acknowledged: number;
  kills: number;
  logged: number;
  gaps: number;
  wrongAgents: string[];
  consumer: { kills: number; events: number; wrong: number; sameAsLog: boolean };
}

/** The short form of `npm run storm:events`. */
describe('a storm of events over three processes', () => {
  it('B3 three processes neither lose nor repeat an event, and a consumer that is killed 20 times receives exactly the log', async () => {
    const report = await runStorm<Report>('event-storm', ['5', '20'], 240_000);
    expect(report).toMatchObject({ gaps: 0, wrongAgents: [] });
    expect(report.consumer).toEqual({ kills: 20, events: report.logged, wrong: 0, sameAsLog: true });
    expect(report.logged).toBeGreaterThanOrEqual(report.acknowledged);
    expect(report.acknowledged).toBeGreaterThan(100);
    expect(report.kills).toBeGreaterThan(10);
  }, 250_000);
});
