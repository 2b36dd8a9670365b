import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { Database } from '#rollcall/platform';
import type { BudgetLedger } from '#rollcall/registry';
import { testBudgets } from '#rollcall/registry/testing';
import { median } from './support/compare.js';
import { startPostgres } from './support/postgres.js';

/**
 * Compares pairs of reserve and settle on the ledger with a bare `UPDATE … RETURNING` of the same rows, in alternating rounds on
 * the same Postgres, with the same number of connections and callers. A pair is two durable operations with a reservation and
 * a line of the ledger; the bare statement changes one counter. A pair and a bare statement each count as one.
 */
const CONNECTIONS = 20;
const CALLERS = [64, 256];
const ROUNDS = 7;
const ROUND_MS = 2_000;
const AGENTS = 1_000;
const TARGET = 0.5;

interface Setting {
  pool: Pool;
  ledger: BudgetLedger;
  ids: string[];
}

const BARE = `UPDATE budget SET reserved_tokens = reserved_tokens + 1
  WHERE id = $1 AND (limit_tokens IS NULL OR used_tokens + reserved_tokens + 1 <= limit_tokens) RETURNING reserved_tokens`;

async function perSecond(callers: number, call: () => Promise<unknown>): Promise<number> {
  const ends = performance.now() + ROUND_MS;
  const started = performance.now();
  let done = 0;
  const work = async (): Promise<void> => {
    for (; performance.now() < ends; done++) await call();
  };
  await Promise.all(Array.from({ length: callers }, work));
  return (done * 1_000) / (performance.now() - started);
}

const show = (rate: number): string => Math.round(rate).toLocaleString('en').padStart(8);

async function compare({ pool, ledger, ids }: Setting, agents: number, callers: number): Promise<number> {
  const any = (): number => Math.floor(Math.random() * agents);
  const bare = async (): Promise<unknown> => await pool.query(BARE, [ids[any()]]);
  const pair = async (): Promise<unknown> => {
    const of = { owner: 'bench', key: randomUUID() };
    const scopes = { agentId: `a-${any()}`, callerId: null, runId: null };
    await ledger.reserve({ ...of, scopes, amount: { tokens: 100, microUsd: 0 }, ttlMs: 60_000 });
    return await ledger.settle(of, { tokens: 80, microUsd: 0 });
  };
  const rounds: { bare: number; pairs: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++)
    rounds.push({ bare: await perSecond(callers, bare), pairs: await perSecond(callers, pair) });
  rounds.shift(); // the first round is the warm-up
  const ratio = median(rounds.map(({ bare: first, pairs }) => pairs / first));
  console.log(`\n${agents === 1 ? 'one hot budget' : `${agents} budgets`}, ${callers} callers`);
  console.log(`  bare UPDATE … RETURNING   ${show(median(rounds.map((one) => one.bare)))} /s`);
  console.log(`  reserve + settle, pairs   ${show(median(rounds.map((one) => one.pairs)))} /s  ${ratio.toFixed(2)}×`);
  return ratio;
}

const postgres = await startPostgres();
const db = new Database({ url: postgres.url, poolSize: CONNECTIONS, operationTimeoutMs: 10_000 });
const pool = new Pool({ connectionString: postgres.url, max: CONNECTIONS });
pool.on('error', () => undefined); // the server stops before the last idle connection is closed
try {
  const { ledger, budgets, reconciliation } = await testBudgets(db);
  const ids: string[] = [];
  const limit = { tokens: 1_000_000_000_000, microUsd: null };
  for (let index = 0; index < AGENTS; index++)
    ids.push(String((await budgets.open({ kind: 'agent', subject: `a-${index}`, limit, by: 'bench' })).id));
  let isReached = true;
  for (const callers of CALLERS)
    for (const agents of [1, AGENTS])
      isReached = (await compare({ pool, ledger, ids }, agents, callers)) >= TARGET && isReached;
  await db.query('UPDATE budget SET reserved_tokens = 0'); // undo what the bare statement wrote without the ledger
  const { checked, discrepancies } = await reconciliation.reconcile();
  console.log(`\n${checked} budgets reconciled, ${discrepancies.length} discrepancies`);
  if (!isReached || discrepancies.length > 0) process.exitCode = 1;
} finally {
  await pool.end();
  await db.close();
  await postgres.stop();
}
