import { eventStorm, testDatabase } from '../testing/index.js';

it('B3 32 writers on two replicas with the sequencer killed at random: every change is logged once, in order, without a gap', async () => {
  const database = await testDatabase({ poolSize: 18 });
  const report = await eventStorm(database, { durationMs: 8_000, writers: 32, agents: 40, killEveryMs: 120 });
  await database.drop();
  expect(report).toMatchObject({ gaps: 0, wrongAgents: [] });
  expect(report.kills).toBeGreaterThan(20);
  expect(report.acknowledged).toBeGreaterThan(500);
  expect(report.logged).toBeGreaterThanOrEqual(report.acknowledged);
});
