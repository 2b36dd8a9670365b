import { createHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { z } from 'zod';
import { DefinitionsService, defineTool, RunReader, RunsService, toolBox, ToolCatalog } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { type ModelProvider, textOfParts, VendorRegistry } from '#rollcall/providers';
import { createApp } from '../../apps/api/src/app.js';
import { databaseOptions } from '../../apps/api/src/boot/start.js';
import { loadConfig } from '../../apps/api/src/config/config.loader.js';
import { instantModel } from './instant.model.js';
import type { LoadResult } from './load.js';
import {
  CALLS,
  type CreateAgent,
  type Forecast,
  INSTRUCTIONS,
  QUESTION,
  rateOf,
  TOOL,
  type Workload,
} from './loop.side.js';
import { commitEachWrite } from './single-commits.js';

/**
 * The application as one side of `bench:runs`, with the model and the tool of `bench:loop`. A run begins with `RunsService.start`, and ends
 * when a caller that waits for it gets the stored answer. The other sides are measured by the same function, `rateOf`.
 */
export type RunsOrder =
  | ({ measure: 'rate'; seconds: number } & Workload)
  /** Starts runs with ten tool calls at this rate, and measures the time from the start to the first claim. */
  | { measure: 'queue'; seconds: number; perSecond: number };

const CONCURRENT_RUNS = 64;
const WAIT_MS = 300_000;
const NAMESPACE = 'default';
const NAMES = { tools: 'weather', answer: 'answer' };
const Input = z.object({ city: z.string(), day: z.int().min(1).max(CALLS) });

/** The tool of the measurement in progress. */
let forecast: Forecast = ({ city, day }) => `${city}, day ${day}: sunny`;

const { BENCH_DATABASE_URL: url = '', BENCH_POOL_SIZE = '20', BENCH_COMMITS } = process.env;
if (BENCH_COMMITS === 'single') commitEachWrite();
const config = loadConfig(
  {
    ROLLCALL_RUNS_MAX: String(CONCURRENT_RUNS),
    ROLLCALL_DATABASE_POOL_SIZE: BENCH_POOL_SIZE,
    ROLLCALL_DATABASE_TIMEOUT: '10s',
  },
  '/nowhere',
  { runtime: { runs: { sharePerAgent: 1 } } },
);
const { nest } = await createApp({ config, database: databaseOptions(config, url), pino: pino({ level: 'silent' }) });
await nest.init();
const open = ({ model }: { model: string }): ModelProvider => instantModel(model === NAMES.tools ? CALLS : 0);
nest.get(VendorRegistry, { strict: false }).register({ name: 'bench', needsKey: false, open });
const tool = defineTool({ ...TOOL, input: Input, execute: (input) => forecast(input) });
nest.get(ToolCatalog, { strict: false }).add(toolBox('bench', [tool]));
const runs = nest.get(RunsService, { strict: false });
const reader = nest.get(RunReader, { strict: false });
const db = new Database({ url, poolSize: 1, operationTimeoutMs: 60_000 });
await define(NAMES.tools, [TOOL.name]);
await define(NAMES.answer, []);

async function define(name: string, tools: string[]): Promise<void> {
  const model = { vendor: 'bench', model: name };
  const content = { description: 'Knows the weather.', instructions: INSTRUCTIONS, tools, model };
  const definitions = nest.get(DefinitionsService, { strict: false });
  await definitions.register({ namespace: NAMESPACE, name, content, source: 'rest', by: 'bench' });
}

async function start(definition: string): Promise<string> {
  const input = [{ type: 'text' as const, text: QUESTION }];
  return (await runs.start({ namespace: NAMESPACE, target: { definition }, input, by: 'bench' })).id;
}

/** Returns the answer of the run. */
async function ended(id: string): Promise<string> {
  const { state, result } = await reader.wait({ namespace: NAMESPACE, id }, { waitMs: WAIT_MS });
  if (state !== 'completed') throw new Error(`the run ${id} is ${state}: ${JSON.stringify(result)}`);
  return textOfParts(result?.parts ?? []);
}

async function measureRate(seconds: number, workload: Workload): Promise<LoadResult> {
  const ids: string[] = [];
  const create: CreateAgent = (execute, calls) => {
    forecast = execute;
    const definition = calls === 0 ? NAMES.answer : NAMES.tools;
    return async () => {
      const id = await start(definition);
      ids.push(id);
      return await ended(id);
    };
  };
  const result = await rateOf(create, seconds, workload);
  await checkSteps(ids, workload.calls ?? CALLS);
  return result;
}

/** Each reply of the model and each result of a tool must be stored once. */
async function checkSteps(ids: readonly string[], calls: number): Promise<void> {
  const [row] = await db.query<{ correct: number }>(
    `SELECT count(*)::integer AS correct FROM (
       SELECT run_id FROM run_step WHERE run_id = ANY ($1) GROUP BY run_id
       HAVING count(*) FILTER (WHERE step->>'type' = 'model-replied') = $2
          AND count(*) FILTER (WHERE step->>'type' = 'tool-finished') = $3) AS correct_run`,
    [ids, calls + 1, calls],
  );
  if (row?.correct === ids.length) return;
  throw new Error(
    `only ${row?.correct} of ${ids.length} runs have ${calls + 1} stored replies and ${calls} stored results`,
  );
}

/** Times of this process and of Postgres can be compared, because both run on this machine. */
async function measureQueue(seconds: number, perSecond: number): Promise<LoadResult> {
  const sent = new Map<string, number>();
  const starts: Promise<void>[] = [];
  const from = Date.now();
  for (let index = 0; index < seconds * perSecond; index += 1) {
    const at = from + (index * 1_000) / perSecond;
    await delay(Math.max(0, at - Date.now()));
    const begin = Date.now();
    starts.push(start(NAMES.tools).then((id) => void sent.set(id, begin)));
  }
  await Promise.all(starts);
  const ids = [...sent.keys()];
  for (const id of ids) await ended(id);
  const rows = await db.query<{ id: string; startedAt: Date }>(
    'SELECT id, started_at AS "startedAt" FROM run WHERE id = ANY ($1)',
    [ids],
  );
  const latencies = createHistogram();
  for (const { id, startedAt } of rows)
    latencies.record(Math.max(1, Math.ceil((startedAt.getTime() - (sent.get(id) ?? 0)) * 1_000)));
  await checkSteps(ids, CALLS);
  const milliseconds = (percentile: number): number => Math.round(latencies.percentile(percentile) / 10) / 100;
  return { perSecond, p50: milliseconds(50), p99: milliseconds(99) };
}

async function answer(order: RunsOrder): Promise<void> {
  const { measure, seconds } = order;
  process.send?.(measure === 'rate' ? await measureRate(seconds, order) : await measureQueue(seconds, order.perSecond));
}

process.on('message', (order: RunsOrder) => void answer(order));
process.on('disconnect', () => process.exit());
