import { eventStorm, testDatabase } from '../testing/index.js';

it('B3 logs every change of 32 writers once, in order and without a gap, while random connections are terminated', async () => {
  const database = await testDatabase({ poolSize: 18 });
  const report = await eventStorm(database, {
    durationMs: 8_000,
    writers: 32,
    agents: 40,
    killEveryMs: 120,
    minKills: 21,
    minAcknowledged: 501,
  });
  await database.drop();
  expect(report).toMatchObject({ gaps: 0, wrongAgents: [] });
  expect(report.kills).toBeGreaterThan(20);
  expect(report.acknowledged).toBeGreaterThan(500);
  expect(report.logged).toBeGreaterThanOrEqual(report.acknowledged);
});
