import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestDatabase } from '#rollcall/platform/testing';
import type { WorkerOrder, WorkerReply } from './budget-worker.js';
import { testBudgets, type TestBudgets } from './test-budgets.js';
import { given } from './given.js';

export interface RaceReport {
  rounds: number;
  /** The rounds in which the number of granted reservations differs from the limit. */
  wrongRounds: number;
  overshoot: number;
  faults: string[];
  discrepancies: number;
}

export interface CrashReport {
  kills: number;
  /** The tokens that are still held after one sweep. */
  leaked: number;
  /** Whether a reservation of the whole budget is rejected afterwards. */
  falselyBlocked: boolean;
  discrepancies: number;
}

/** Two processes try at the same time to reserve more than a budget allows. Each round tops the budget up by `limit`. */
export async function budgetRace(
  database: TestDatabase,
  rounds: number,
  requests: number,
  limit: number,
): Promise<RaceReport> {
  const here = await testBudgets(database.db);
  const workers = await Promise.all([startWorker(database), startWorker(database)]);
  const { id } = await here.budgets.open(given.budgetRequest(0));
  const report: RaceReport = { rounds, wrongRounds: 0, overshoot: 0, faults: [], discrepancies: 0 };
  for (let round = 1; round <= rounds; round++) {
    await here.budgets.topUp(id, { tokens: limit }, { by: 'storm', note: null });
    const order: WorkerOrder = { do: 'reserve', times: requests / workers.length, tokens: 1 };
    const replies = await Promise.all(workers.map(async (worker) => await request(worker, order)));
    const granted = replies.reduce((sum, reply) => sum + ('granted' in reply ? reply.granted : 0), 0);
    report.faults.push(...replies.flatMap((reply) => ('faults' in reply ? reply.faults : ['no reply'])));
    if (granted !== limit) report.wrongRounds++;
    report.overshoot += Math.max(0, (await here.budgets.get(id)).budget.reserved.tokens - round * limit);
  }
  for (const worker of workers) worker.disconnect();
  report.discrepancies = (await here.reconciliation.reconcile()).discrepancies.length;
  return report;
}

/** Kills processes after they reserve tokens and before they settle. Then lets the reservations expire, and sweeps once. */
export async function budgetCrashes(database: TestDatabase, kills: number): Promise<CrashReport> {
  const here = await testBudgets(database.db);
  const tokens = 10;
  const { id } = await here.budgets.open(given.budgetRequest(kills * tokens));
  for (let kill = 0; kill < kills; kill++) {
    const worker = await startWorker(database);
    await request(worker, { do: 'hang', tokens, ttlMs: 60_000 });
    const exited = once(worker, 'exit');
    worker.kill('SIGKILL');
    await exited;
  }
  await database.db.query(`UPDATE budget_reservation SET expires_at = clock_timestamp() - interval '1 second'`);
  await here.sweeper.sweep();
  const leaked = (await here.budgets.get(id)).budget.reserved.tokens;
  const falselyBlocked = await isBlocked(here, kills * tokens);
  return { kills, leaked, falselyBlocked, discrepancies: (await here.reconciliation.reconcile()).discrepancies.length };
}

async function isBlocked({ ledger }: TestBudgets, tokens: number): Promise<boolean> {
  try {
    await ledger.reserve(given.reservation(tokens));
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === 'BUDGET_EXHAUSTED') return true;
    throw error;
  }
}

async function startWorker({ url }: TestDatabase): Promise<ChildProcess> {
  const worker = fork(join(rootFolder(), 'dist/libs/registry/src/testing/budget-worker.js'), [url]);
  await once(worker, 'message');
  return worker;
}

async function request(worker: ChildProcess, order: WorkerOrder): Promise<WorkerReply> {
  const reply = once(worker, 'message') as Promise<[WorkerReply]>;
  worker.send(order);
  return (await reply)[0];
}

function rootFolder(): string {
  let folder: string = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}
