/**
 * Runs A2A tasks with three subscribers each on two replicas, and repeatedly kills one of the replicas (SIGKILL). Each subscriber connects
 * again to any replica. It must receive a snapshot, and then each change once and in order. The push notifications of each task must
 * arrive at least once and in order. No task may do anything twice.
 * `node task-storm.js <tasks that are open at each kill> <kills> --busy <processes that use a core each during the storm>`
 */
import { randomBytes, randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runFaults } from '#rollcall/agent-runtime/testing';
import { testDatabase } from '#rollcall/platform/testing';
import { BusyLoops, until } from '#rollcall/test-support';
import { startPostgres } from './support/postgres.js';
import { PushReceiver } from './support/tasks/push.receiver.js';
import { StormReplicas } from './support/tasks/replicas.js';
import { StormTasks } from './support/tasks/storm.tasks.js';

const { values: options, positionals } = parseArgs({
  options: { busy: { type: 'string', default: '0' } },
  allowPositionals: true,
});
const [wanted = 200, kills = 20] = positionals.map(Number);
const KEY = randomBytes(32).toString('hex');
const SETTLE_MS = 300_000;
const REPORT_EVERY_MS = 10_000;
const MAX_SHOWN = 20;

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 }); // a busy machine must not end the storm
const count = async (from: string): Promise<number> => {
  const [row] = await database.db.query<{ count: string }>(`SELECT count(*) AS count FROM ${from}`);
  return Number(row?.count);
};
const receiver = await PushReceiver.start();
/** The reservations of a run that was charged a different amount than its replies report. */
const chargesOf = async (run: { run_id: string }): Promise<object> => ({
  ...run,
  attempts: await database.db.query('SELECT attempts, crashes FROM run WHERE id = $1', [run.run_id]),
  reservations: await database.db.query(
    `SELECT key, state, held_tokens, used_tokens, estimated, opened_at, closed_at FROM budget_reservation
     WHERE run_id = $1 ORDER BY opened_at`,
    [run.run_id],
  ),
});
const replicas = await StormReplicas.start({
  DATABASE_URL: database.url,
  ROLLCALL_ADMIN_KEY: KEY,
  ROLLCALL_RATE_LIMIT: '0',
  ROLLCALL_CONCURRENT_REQUESTS: '0',
  ROLLCALL_CONCURRENT_STREAMS: '0',
  ROLLCALL_RUNS_MAX: String(wanted),
  ROLLCALL_DATABASE_TIMEOUT: '10s',
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_SEALING_KEY: KEY,
});
const tasks = new StormTasks(replicas, receiver, KEY);
const report = setInterval(() => {
  console.log(`${tasks.size} tasks, ${tasks.unfinished} unfinished, ${receiver.total} notifications`);
}, REPORT_EVERY_MS);
const busy = BusyLoops.start(Number(options.busy));
try {
  await tasks.define();
  for (let kill = 0; kill < kills; kill += 1) {
    const before = await count('run_step');
    const progress = async (): Promise<boolean> => {
      await tasks.fill(wanted); // tasks that are finished in the meantime are replaced
      return (await count('run_step')) > before + wanted;
    };
    await until('the tasks make progress', progress, SETTLE_MS);
    await replicas.kill(randomInt(2));
    console.log(`killed ${kill + 1} of ${kills} times, ${tasks.size} tasks, ${tasks.reconnections} reconnections`);
  }
  await tasks.settled();
  await until('the last notifications arrive', () => receiver.finished === tasks.size, SETTLE_MS).catch(console.error);
  await until('nothing is reserved', async () => (await count(`budget_reservation WHERE state = 'held'`)) === 0);
  const { gaps, repeated, unequal } = await runFaults(async (sql) => await database.db.query(sql));
  for (const run of unequal.slice(0, MAX_SHOWN))
    console.log(JSON.stringify(await chargesOf(run as { run_id: string })));
  const notCompleted = await count(`run WHERE state <> 'completed'`);
  const extraRuns = (await count('run')) - tasks.size;
  const runFaultCounts = { extraRuns, gaps: gaps.length, repliedTwice: repeated.length, chargedWrong: unequal.length };
  const { others, ...streams } = tasks.faults();
  const interrupted = await count('run WHERE attempts > 2');
  const { size, reconnections } = tasks;
  const summary = {
    busy: Number(options.busy),
    open: wanted,
    kills,
    tasks: size,
    interrupted,
    reconnections,
    notifications: receiver.total,
  };
  const otherFaults = [...others, ...receiver.faults];
  for (const fault of otherFaults.slice(0, MAX_SHOWN)) console.log(fault);
  const faults = {
    notCompleted,
    ...runFaultCounts,
    ...streams,
    ...tasks.pushFaults(),
    otherFaults: otherFaults.length,
  };
  console.log(JSON.stringify({ ...summary, ...faults }));
  if (Object.values(faults).some((found) => found !== 0) || interrupted === 0) process.exitCode = 1;
} finally {
  clearInterval(report);
  await busy.stop();
  await replicas.stop();
  await receiver.stop();
  await database.drop();
  await postgres.stop();
}
