import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import { migrate } from '#rollcall/platform';
import { emptyDatabase } from '#rollcall/platform/testing';
import { SCHEMA } from '../apps/api/src/boot/start.js';
import { compareRunners, print } from './support/compare.js';
import type { LoadResult } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { SideProcess } from './support/side.process.js';
import { requireRatio } from './support/target.js';

/**
 * Measures durable runs with ten tool calls and a model without latency, on one Postgres with durable commits: Rollcall, Rollcall with one
 * commit for each write, and LangGraph.js with its Postgres checkpointer. Each side has its own process and database, and a pool of the
 * same size. The benchmark first measures the rate with 64 concurrent runs, and then the time from the start of a run to its first claim
 * at 100 runs/s.
 */
const MIN_RATIO = 2;
const MIN_PEER_RATIO = 50;
const POOL_SIZE = 20;
const QUEUE = { seconds: 10, perSecond: 100 };
/** `npm run bench:runs -- 3` has rounds of three seconds. */
const ROUND_S = Number(process.argv[2] ?? 10);

const ROLLCALL = new URL('./support/rollcall-runs.side.js', import.meta.url);
const PEERS = new URL('../../bench/peers/', import.meta.url);

async function migrated(): Promise<string> {
  const url = await emptyDatabase();
  await migrate({ url, poolSize: 2, operationTimeoutMs: 5_000 }, SCHEMA);
  return url;
}

/** The process gets its settings from the environment. */
function side(name: string, module: URL, url: string, commits: 'group' | 'single' = 'group'): SideProcess {
  const settings = { BENCH_DATABASE_URL: url, BENCH_POOL_SIZE: String(POOL_SIZE), BENCH_COMMITS: commits };
  return new SideProcess(name, module, settings);
}

async function startPeers(): Promise<SideProcess[]> {
  if (existsSync(new URL('node_modules', PEERS)))
    return [side('LangGraph.js, Postgres checkpointer', new URL('langgraph.mjs', PEERS), await emptyDatabase())];
  console.log('the peers are not installed, so there is no comparison with them: npm ci --prefix bench/peers');
  process.exitCode = 1;
  return [];
}

const postgres = await startPostgres();
const sides = [
  side('Rollcall, durable runs', ROLLCALL, await migrated()),
  side('Rollcall, one commit for each write', ROLLCALL, await migrated(), 'single'),
  ...(await startPeers()),
];
try {
  const [rollcall, single, peer] = await compareRunners(sides, { rounds: 3, seconds: ROUND_S });
  const title = 'durable runs with 10 tool calls, 64 concurrent';
  print(
    title,
    [rollcall, single, peer].filter((score) => score !== undefined),
  );
  requireRatio(MIN_RATIO, rollcall, single);
  if (peer) requireRatio(MIN_PEER_RATIO, rollcall, peer);
  const queue = await sides[0]?.ask<LoadResult>({ measure: 'queue', ...QUEUE });
  console.log(`\nfrom the start of a run to its first claim, at ${QUEUE.perSecond} runs/s`);
  console.log(`  p50 ${queue?.p50} ms  p99 ${queue?.p99} ms`);
  const busy = loadavg().map((load) => load.toFixed(1));
  console.log(`\nload of the machine in the last 1, 5 and 15 minutes: ${busy.join(', ')}`);
} finally {
  for (const one of sides) one.stop();
  await postgres.stop();
}
