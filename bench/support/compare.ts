import { type Load, load, type LoadResult } from './load.js';

export interface Contestant {
  name: string;
  load: Load;
  /** How many operations one request contains; default 1. */
  operations?: number;
}

/** A contestant that produces its load itself. */
export interface Runner {
  name: string;
  run(seconds: number): Promise<LoadResult>;
}

export interface Score extends LoadResult {
  name: string;
  /** The rate relative to the first contestant: the median over the rounds. */
  ratio: number;
  /** Operations per second in each round. */
  rates: readonly number[];
}

export interface Rounds {
  rounds: number;
  seconds: number;
  /** Called once, between the warm-up of all contestants and the first round. */
  afterWarmUp(): Promise<void>;
}

const ROUNDS: Rounds = { rounds: 5, seconds: 2, afterWarmUp: async () => undefined };
/** Each contestant runs for this long before the first round, so that its code is compiled. */
const WARM_UP_S = 2;

/** Compares the rates of the contestants with the same number of connections. */
export async function compare(
  contestants: readonly Contestant[],
  connections: number,
  rounds: Partial<Rounds> = {},
): Promise<Score[]> {
  const runners = contestants.map(({ name, load: what, operations = 1 }) => ({
    name,
    run: async (seconds: number): Promise<LoadResult> => {
      const result = await load(what, connections, seconds);
      return { ...result, perSecond: result.perSecond * operations };
    },
  }));
  return await compareRunners(runners, rounds);
}

/**
 * Alternates between the contestants in short rounds, so that a disturbance of the machine affects all of them. Every second round
 * has the reverse order, so that no contestant always runs directly after the same other one.
 */
export async function compareRunners(contestants: readonly Runner[], options: Partial<Rounds> = {}): Promise<Score[]> {
  const { rounds, seconds, afterWarmUp } = { ...ROUNDS, ...options };
  for (const contestant of contestants) await contestant.run(Math.max(seconds, WARM_UP_S));
  await afterWarmUp();
  const results: LoadResult[][] = [];
  for (let round = 0; round < rounds; round++) results.push(await runRound(contestants, round % 2 === 1, seconds));
  return contestants.map(({ name }, index) => scoreOf(name, results, index));
}

/** Returns the results in the order of the contestants. */
async function runRound(contestants: readonly Runner[], reversed: boolean, seconds: number): Promise<LoadResult[]> {
  const results: LoadResult[] = [];
  for (const contestant of reversed ? contestants.toReversed() : contestants)
    results.push(await contestant.run(seconds));
  return reversed ? results.toReversed() : results;
}

function scoreOf(name: string, rounds: readonly (readonly LoadResult[])[], index: number): Score {
  const results = rounds.map((round) => round[index] ?? { perSecond: 0, p50: 0, p99: 0 });
  const ofFirst = rounds.map((round, at) => (results[at]?.perSecond ?? 0) / (round[0]?.perSecond ?? 1));
  const rates = results.map(({ perSecond }) => perSecond);
  const p50 = median(results.map((result) => result.p50));
  const p99 = median(results.map((result) => result.p99));
  return { name, perSecond: median(rates), p50, p99, ratio: median(ofFirst), rates };
}

/** The rate of one contestant relative to another: the median of the ratios of the rounds. */
export function ratioOf(one: Score, other: Score): number {
  return median(ratiosOf(one, other));
}

/** The rate of one contestant relative to another in each round. */
export function ratiosOf(one: Score, other: Score): number[] {
  return one.rates.map((rate, round) => rate / (other.rates[round] ?? Infinity));
}

export function print(title: string, scores: readonly Score[]): void {
  console.log(`\n${title}`);
  for (const { name, perSecond, p50, p99, ratio } of scores) {
    const rate = Math.round(perSecond).toString().padStart(7);
    console.log(`  ${name.padEnd(44)} ${rate} /s  p50 ${p50} ms  p99 ${p99} ms  ${ratio.toFixed(2)}×`);
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
