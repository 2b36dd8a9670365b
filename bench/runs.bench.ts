import { loadavg } from 'node:os';
import { migrate } from '#rollcall/platform';
import { emptyDatabase } from '#rollcall/platform/testing';
import { SCHEMA } from '../apps/api/src/boot/start.js';
import { compareRunners, print, ratioOf, type Runner, type Score } from './support/compare.js';
import type { LoadResult } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { databaseSettings, installedPeers, SideProcess } from './support/side.process.js';
import { TargetTable } from './support/target.js';

/**
 * Measures durable runs with a model without latency, on one Postgres with durable commits: Rollcall, a DBOS workflow with the same model
 * and tool calls as steps, and LangGraph.js with its Postgres checkpointer. Each side has its own process and database, and a pool of the same
 * size. A run is complete when its result is stored.
 *
 * 1. Ten tool calls, 64 concurrent runs; also Rollcall with one commit for each write, which shows what group commits are worth.
 * 2. One model call, 64 concurrent runs.
 * 3. One model call, one run at a time.
 * 4. Rollcall only: the time from the start of a run to its first claim, at 100 runs/s.
 */
const POOL_SIZE = 20;
const QUEUE = { seconds: 10, perSecond: 100 };
/** `npm run bench:runs -- 2` has rounds of two seconds. */
const ROUND_S = Number(process.argv[2] ?? 6);
const ROUNDS = { rounds: 5, seconds: ROUND_S, afterWarmUp: async (): Promise<void> => await postgres.analyze() };
const ONE_CALL = { calls: 0 };
const ALONE = { calls: 0, concurrent: 1 };

const ROLLCALL = new URL('./support/rollcall-runs.side.js', import.meta.url);

async function startRollcall(name: string, commits: 'group' | 'single'): Promise<SideProcess> {
  const url = await emptyDatabase();
  await migrate({ url, poolSize: 2, operationTimeoutMs: 5_000 }, SCHEMA);
  return new SideProcess(name, ROLLCALL, { ...databaseSettings(url, POOL_SIZE), BENCH_COMMITS: commits });
}

async function startPeer(name: string, module: string): Promise<SideProcess | undefined> {
  if (!peers) return undefined;
  return new SideProcess(name, new URL(module, peers), databaseSettings(await emptyDatabase(), POOL_SIZE));
}

/** Measures the sides that are installed, and returns one score for each place in the list. */
async function measure(title: string, sides: readonly (Runner | undefined)[]): Promise<(Score | undefined)[]> {
  const installed = sides.filter((side) => side !== undefined);
  const scores = await compareRunners(installed, ROUNDS);
  print(title, scores);
  return sides.map((side) => (side ? scores[installed.indexOf(side)] : undefined));
}

async function measureTools(): Promise<void> {
  const title = 'durable runs with 10 tool calls, 64 concurrent';
  const [ours, ofDbos, ofLangGraph, ofSingle] = await measure(title, [rollcall, dbos, langGraph, single]);
  if (ours && ofDbos) targets.atLeast('10 tool calls, 64 concurrent: Rollcall / DBOS', 6, ratioOf(ours, ofDbos));
  if (ours && ofLangGraph)
    targets.atLeast('10 tool calls, 64 concurrent: Rollcall / LangGraph.js', 20, ratioOf(ours, ofLangGraph));
  if (ours && ofSingle)
    targets.atLeast('10 tool calls, 64 concurrent: Rollcall / one commit for each write', 2, ratioOf(ours, ofSingle));
}

async function measureOneCall(): Promise<void> {
  const title = 'durable runs with one model call, 64 concurrent';
  const [ours, ofDbos] = await measure(title, [rollcall.with(ONE_CALL), dbos?.with(ONE_CALL)]);
  if (ours && ofDbos) targets.atLeast('one model call, 64 concurrent: Rollcall / DBOS', 1.5, ratioOf(ours, ofDbos));
}

async function measureAlone(): Promise<void> {
  const title = 'durable runs with one model call, one at a time';
  const [ours, ofDbos] = await measure(title, [rollcall.with(ALONE), dbos?.with(ALONE)]);
  if (ours && ofDbos) targets.atMost('one model call, alone: p50 of Rollcall / p50 of DBOS', 2, ours.p50 / ofDbos.p50);
}

async function measureQueue(): Promise<void> {
  const { p50, p99 } = await rollcall.ask<LoadResult>({ measure: 'queue', ...QUEUE });
  console.log(`\nfrom the start of a run with 10 tool calls to its first claim, at ${QUEUE.perSecond} runs/s`);
  console.log(`  p50 ${p50} ms  p99 ${p99} ms`);
}

const targets = new TargetTable();
const peers = installedPeers();
const postgres = await startPostgres();
const rollcall = await startRollcall('Rollcall', 'group');
const single = await startRollcall('Rollcall, one commit for each write', 'single');
const dbos = await startPeer('DBOS, each call is a step', 'dbos.mjs');
const langGraph = await startPeer('LangGraph.js, Postgres checkpointer', 'langgraph.mjs');
try {
  await measureTools();
  await measureOneCall();
  await measureAlone();
  await measureQueue();
  targets.print();
  const busy = loadavg().map((load) => load.toFixed(1));
  console.log(`\nload of the machine in the last 1, 5 and 15 minutes: ${busy.join(', ')}`);
} finally {
  for (const side of [rollcall, single, dbos, langGraph]) side?.stop();
  await postgres.stop();
}
