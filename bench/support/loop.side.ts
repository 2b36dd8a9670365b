import { createHistogram } from 'node:perf_hooks';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { LoadResult } from './load.js';

/**
 * The scenario of `bench:loop`. The model calls the tool `forecast` in each of its first ten replies, with `inputOf(0)` to
 * `inputOf(9)`, and its eleventh reply is the text `ANSWER`.
 */
export const CALLS = 10;
export const QUESTION = 'How is the weather in Graz on the next ten days?';
export const ANSWER = 'It stays sunny for ten days.';
export const INSTRUCTIONS = 'Answer questions about the weather. Look up each day.';
export const TOOL = { name: 'forecast', description: 'Returns the forecast of a city for one day.' } as const;

export interface ForecastInput {
  city: string;
  /** From 1 to 10. */
  day: number;
}

export const inputOf = (call: number): ForecastInput => ({ city: 'Graz', day: call + 1 });

/** What the tool of each side executes after it has validated its input. */
export type Forecast = (input: ForecastInput) => string | Promise<string>;

/**
 * Creates an agent with this tool. The function that it returns executes one run, and returns the answer. `calls` is the number of tool
 * calls of a run: 10, or 0 if the first reply of the model is the answer.
 */
export type CreateAgent = (forecast: Forecast, calls: number) => () => Promise<string>;

/** The runs of one measurement. */
export interface Workload {
  /** The tool calls of each run; 10 by default. A side of `bench:loop` has only runs with 10 tool calls. */
  calls?: number;
  /** The number of runs in progress; 64 by default. */
  concurrent?: number;
}

export type SideOrder = ({ measure: 'rate'; seconds: number } & Workload) | { measure: 'heap' };

const CONCURRENT_RUNS = 64;
const HELD_RUNS = 1_000;

/** Measures one side: on the orders of the benchmark, or once for each number of tool calls, with the results printed as lines of JSON. */
export async function serveSide(create: CreateAgent, supportedCalls: readonly number[] = [CALLS]): Promise<void> {
  if (process.send) {
    process.on('message', (order: SideOrder) => void answer(create, order));
    process.on('disconnect', () => process.exit());
    return;
  }
  for (const calls of supportedCalls) {
    const { perSecond } = await rateOf(create, 2, { calls });
    const { p50 } = await rateOf(create, 2, { calls, concurrent: 1 });
    console.log(JSON.stringify({ toolCalls: calls, runsPerSecond: perSecond, msAlone: p50 }));
  }
  console.log(JSON.stringify({ heapPerConcurrentRun: await heapOf(create) }));
}

async function answer(create: CreateAgent, order: SideOrder): Promise<void> {
  process.send?.(order.measure === 'rate' ? await rateOf(create, order.seconds, order) : await heapOf(create));
}

/** Keeps the wanted number of runs in progress. The time ends with the last run. */
export async function rateOf(
  create: CreateAgent,
  seconds: number,
  { calls = CALLS, concurrent = CONCURRENT_RUNS }: Workload,
): Promise<LoadResult> {
  let called = 0;
  const run = checked(create(({ city, day }) => `${city}, day ${day}: sunny, number ${(called += 1)}`, calls));
  const latencies = createHistogram();
  const started = performance.now();
  const work = async (): Promise<void> => {
    for (let begun = started; begun - started < seconds * 1_000;) {
      await run();
      const ended = performance.now();
      latencies.record(Math.ceil((ended - begun) * 1_000));
      begun = ended;
    }
  };
  await Promise.all(Array.from({ length: concurrent }, work));
  const elapsed = (performance.now() - started) / 1_000;
  const { count } = latencies;
  if (called !== count * calls) throw new Error(`${count} runs executed ${called} tool calls`);
  const milliseconds = (percentile: number): number => Math.round(latencies.percentile(percentile) / 10) / 100;
  return { perSecond: count / elapsed, p50: milliseconds(50), p99: milliseconds(99) };
}

/** The bytes of the heap for each of 1,000 runs that all wait in their last tool call. */
async function heapOf(create: CreateAgent): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const allWait = Promise.withResolvers<void>();
  let waiting = 0;
  let holds = false;
  const run = checked(
    create(({ city, day }) => {
      if (!holds || day < CALLS) return `${city}, day ${day}: sunny`;
      waiting += 1;
      if (waiting === HELD_RUNS) allWait.resolve();
      return promise;
    }, CALLS),
  );
  for (let warmUp = 0; warmUp < CONCURRENT_RUNS; warmUp += 1) await run();
  holds = true;
  const before = await usedHeap();
  const ended = Promise.all(Array.from({ length: HELD_RUNS }, run));
  await Promise.race([allWait.promise, ended]);
  const bytes = ((await usedHeap()) - before) / HELD_RUNS;
  resolve('sunny');
  await ended;
  return Math.round(bytes);
}

function checked(run: () => Promise<string>): () => Promise<string> {
  return async () => {
    const text = await run();
    if (text !== ANSWER) throw new Error(`the answer of a run is ${JSON.stringify(text)}`);
    return text;
  };
}

async function usedHeap(): Promise<number> {
  if (!globalThis.gc) throw new Error('start this with --expose-gc');
  for (let pass = 0; pass < 3; pass += 1) {
    await nextTick();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
