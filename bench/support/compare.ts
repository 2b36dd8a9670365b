import autocannon from 'autocannon';

export interface Contestant {
  name: string;
  request: autocannon.Options;
}

export interface Score {
  name: string;
  perSecond: number;
  p50: number;
  p99: number;
  /** Of the first contestant's rate, round by round; the median round counts. */
  ratio: number;
}

const ROUNDS = 7;
const WARM_UP_S = 2;
const MEASURE_S = 2;

/** Takes turns in short rounds, so that a noisy minute hits every contestant alike. */
export async function compare(contestants: Contestant[], connections: number): Promise<Score[]> {
  for (const { request } of contestants) await cannon(request, connections, WARM_UP_S);
  const rounds: Omit<Score, 'ratio'>[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const results: Omit<Score, 'ratio'>[] = [];
    for (const contestant of contestants) results.push(await measure(contestant, connections));
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

async function measure({ name, request }: Contestant, connections: number): Promise<Omit<Score, 'ratio'>> {
  const { requests, latency, non2xx, errors } = await cannon(request, connections, MEASURE_S);
  if (non2xx + errors > 0) throw new Error(`${name}: ${non2xx} refusals and ${errors} errors under load`);
  return { name, perSecond: requests.average, p50: latency.p50, p99: latency.p99 };
}

async function cannon(request: autocannon.Options, connections: number, duration: number): Promise<autocannon.Result> {
  return await autocannon({ connections, duration, ...request });
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
