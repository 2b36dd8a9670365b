import { type Load, load, type LoadResult } from './load.js';

export interface Contestant {
  name: string;
  load: Load;
}

export interface Score extends LoadResult {
  name: string;
  /** Of the first contestant's rate, round by round; the median round counts. */
  ratio: number;
}

const ROUNDS = 7;
const WARM_UP_S = 2;
const MEASURE_S = 2;

/** Takes turns in short rounds, so that a noisy minute hits every contestant alike. */
export async function compare(contestants: Contestant[], connections: number): Promise<Score[]> {
  for (const contestant of contestants) await load(contestant.load, connections, WARM_UP_S);
  const rounds: LoadResult[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const results: LoadResult[] = [];
    for (const contestant of contestants) results.push(await load(contestant.load, connections, MEASURE_S));
    rounds.push(results);
  }
  return contestants.map(({ name }, index) => ({
    name,
    perSecond: median(rounds.map((round) => round[index]?.perSecond ?? 0)),
    p50: median(rounds.map((round) => round[index]?.p50 ?? 0)),
    p99: median(rounds.map((round) => round[index]?.p99 ?? 0)),
    ratio: median(rounds.map((round) => (round[index]?.perSecond ?? 0) / (round[0]?.perSecond ?? 1))),
  }));
}

export function print(title: string, scores: Score[]): void {
  console.log(`\n${title}`);
  for (const { name, perSecond, p50, p99, ratio } of scores) {
    const rate = Math.round(perSecond).toString().padStart(7);
    console.log(`  ${name.padEnd(40)} ${rate} req/s  p50 ${p50} ms  p99 ${p99} ms  ${ratio.toFixed(2)}×`);
  }
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
