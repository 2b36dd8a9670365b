import { runStorm } from '../support/storm.js';

/** The measured storm of the requirement has 200 tasks and 20 kills: `npm run storm -- tasks`. */
const TASKS = process.env['ROLLCALL_TEST_TASKS'] ?? '20';
const KILLS = process.env['ROLLCALL_TEST_TASK_KILLS'] ?? '2';
/** The storm takes 40 seconds on a quiet machine, and ten times as long on a busy machine. */
const TIMEOUT_MS = 480_000 + Number(KILLS) * 60_000;

interface Report {
  tasks: number;
  interrupted: number;
  reconnections: number;
  notifications: number;
  busy: number;
}

describe('replicas that are killed while they stream tasks', () => {
  it(
    'S3.12 B6 each subscriber gets a snapshot and then each change once, each notification arrives in order, and nothing is done twice',
    async () => {
      const report = await runStorm<Report>('task-storm', [TASKS, KILLS], TIMEOUT_MS);
      const { tasks, interrupted, reconnections, notifications, busy: _busy, ...faults } = report;
      expect(faults).toEqual({
        open: Number(TASKS),
        kills: Number(KILLS),
        notCompleted: 0,
        extraRuns: 0,
        gaps: 0,
        repliedTwice: 0,
        chargedWrong: 0,
        repeated: 0,
        missed: 0,
        pushesMissed: 0,
        pushesDisordered: 0,
        otherFaults: 0,
      });
      expect(tasks).toBeGreaterThanOrEqual(Number(TASKS));
      expect(interrupted).toBeGreaterThan(0);
      expect(reconnections).toBeGreaterThan(0);
      expect(notifications).toBeGreaterThanOrEqual(5 * tasks);
    },
    TIMEOUT_MS,
  );
});
