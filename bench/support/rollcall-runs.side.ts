import { createHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { z } from 'zod';
import { DefinitionsService, defineTool, RunsService, toolBox, ToolCatalog } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { VendorRegistry } from '#rollcall/providers';
import { createApp } from '../../apps/api/src/app.js';
import { databaseOptions } from '../../apps/api/src/boot/start.js';
import { loadConfig } from '../../apps/api/src/config/config.loader.js';
import { INSTANT_MODEL } from './instant.model.js';
import type { LoadResult } from './load.js';
import { CALLS, type ForecastInput, INSTRUCTIONS, QUESTION, TOOL } from './loop.side.js';
import { commitEachWrite } from './single-commits.js';

/** The application as one side of `bench:runs`, with the model and the tool of `bench:loop`. A run is counted when it is stored as completed. */
export type RunsOrder =
  | { measure: 'rate'; seconds: number }
  /** Starts runs at this rate, and measures the time from the start to the first claim. */
  | { measure: 'queue'; seconds: number; perSecond: number };

/** The message, the eleven replies, and the start and the end of each tool call. */
const STEPS = 1 + (CALLS + 1) + 2 * CALLS;
const CONCURRENT_RUNS = 64;
/** Runs that wait, so that an ended run is replaced at once. */
const QUEUED_RUNS = 16;
const POLL_MS = 10;
const FINISHED = {
  name: 'bench-finished',
  text: 'SELECT id, state FROM run WHERE id = ANY ($1) AND finished_at IS NOT NULL',
};
const NAMESPACE = 'default';
const DEFINITION = {
  description: 'Knows the weather.',
  instructions: INSTRUCTIONS,
  tools: [TOOL.name],
  model: { vendor: 'bench', model: 'instant' },
};
const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });
const forecast = ({ city, day }: ForecastInput): string => `${city}, day ${day}: sunny`;

const { BENCH_DATABASE_URL: url = '', BENCH_POOL_SIZE = '20', BENCH_COMMITS } = process.env;
if (BENCH_COMMITS === 'single') commitEachWrite();
const config = loadConfig(
  {
    ROLLCALL_RUNS_MAX: String(CONCURRENT_RUNS),
    ROLLCALL_RUNS_MAX_PER_AGENT: String(CONCURRENT_RUNS),
    ROLLCALL_DATABASE_POOL_SIZE: BENCH_POOL_SIZE,
    ROLLCALL_DATABASE_TIMEOUT: '10s',
  },
  '/nowhere',
);
const { nest } = await createApp({ config, database: databaseOptions(config, url), pino: pino({ level: 'silent' }) });
await nest.init();
const vendor = { name: 'bench', needsKey: false, open: () => INSTANT_MODEL };
nest.get(VendorRegistry, { strict: false }).register(vendor);
const tool = defineTool({ ...TOOL, input: Input, execute: forecast });
nest.get(ToolCatalog, { strict: false }).add(toolBox('bench', [tool]));
const runs = nest.get(RunsService, { strict: false });
const db = new Database({ url, poolSize: 1, operationTimeoutMs: 10_000 });
const definitions = nest.get(DefinitionsService, { strict: false });
await definitions.register({ namespace: NAMESPACE, name: 'weather', content: DEFINITION, source: 'rest', by: 'bench' });

async function start(): Promise<string> {
  const input = [{ type: 'text' as const, text: QUESTION }];
  return (await runs.start({ namespace: NAMESPACE, target: { definition: 'weather' }, input, by: 'bench' })).id;
}

/** Waits until some of the runs are finished, and removes them. Returns their ids. */
async function takeFinished(open: Set<string>): Promise<string[]> {
  for (;;) {
    const rows = await db.query<{ id: string; state: string }>(FINISHED, [[...open]]);
    for (const { id, state } of rows) {
      if (state !== 'completed') throw new Error(`the run ${id} is ${state}`);
      open.delete(id);
    }
    if (rows.length > 0 || open.size === 0) return rows.map(({ id }) => id);
    await delay(POLL_MS);
  }
}

/** Keeps 64 runs in execution. The time ends with the last run. */
async function rateOf(seconds: number): Promise<LoadResult> {
  const latencies = createHistogram();
  const begun = new Map<string, number>();
  const open = new Set<string>();
  const started = performance.now();
  const begin = async (): Promise<void> => {
    const at = performance.now();
    const id = await start();
    begun.set(id, at);
    open.add(id);
  };
  let wanted = CONCURRENT_RUNS + QUEUED_RUNS;
  do {
    await Promise.all(Array.from({ length: wanted }, begin));
    const finished = await takeFinished(open);
    for (const id of finished) latencies.record(Math.ceil((performance.now() - (begun.get(id) ?? 0)) * 1_000));
    wanted = performance.now() - started < seconds * 1_000 ? finished.length : 0;
  } while (open.size > 0 || wanted > 0);
  const elapsed = (performance.now() - started) / 1_000;
  await checkSteps();
  return { perSecond: latencies.count / elapsed, ...percentilesOf(latencies) };
}

async function checkSteps(): Promise<void> {
  const [row] = await db.query<{ runs: number }>(
    `SELECT count(*)::integer AS runs FROM (SELECT run_id FROM run_step GROUP BY run_id HAVING count(*) <> $1) AS wrong`,
    [STEPS],
  );
  if (row?.runs !== 0) throw new Error(`${row?.runs} runs do not have ${STEPS} steps`);
  await db.query('TRUNCATE run, run_step, budget, budget_entry, budget_reservation');
}

/** Times of this process and of Postgres can be compared, because both run on this machine. */
async function queueOf(seconds: number, perSecond: number): Promise<LoadResult> {
  const sent = new Map<string, number>();
  const starts: Promise<void>[] = [];
  const from = Date.now();
  for (let index = 0; index < seconds * perSecond; index += 1) {
    const at = from + (index * 1_000) / perSecond;
    await delay(Math.max(0, at - Date.now()));
    const begin = Date.now();
    starts.push(start().then((id) => void sent.set(id, begin)));
  }
  await Promise.all(starts);
  const open = new Set(sent.keys());
  while (open.size > 0) await takeFinished(open);
  const rows = await db.query<{ id: string; startedAt: Date }>(
    'SELECT id, started_at AS "startedAt" FROM run WHERE id = ANY ($1)',
    [[...sent.keys()]],
  );
  const latencies = createHistogram();
  for (const { id, startedAt } of rows)
    latencies.record(Math.max(1, Math.ceil((startedAt.getTime() - (sent.get(id) ?? 0)) * 1_000)));
  await checkSteps();
  return { perSecond, ...percentilesOf(latencies) };
}

function percentilesOf(latencies: ReturnType<typeof createHistogram>): { p50: number; p99: number } {
  const milliseconds = (percentile: number): number => Math.round(latencies.percentile(percentile) / 10) / 100;
  return { p50: milliseconds(50), p99: milliseconds(99) };
}

async function answer(order: RunsOrder): Promise<void> {
  const { measure, seconds } = order;
  process.send?.(measure === 'rate' ? await rateOf(seconds) : await queueOf(seconds, order.perSecond));
}

process.on('message', (order: RunsOrder) => void answer(order));
process.on('disconnect', () => process.exit());
