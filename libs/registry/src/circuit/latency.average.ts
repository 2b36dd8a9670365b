/** The weight of the latest call. The influence of a call halves after about three more calls. */
const WEIGHT = 0.2;
/** Averages are rounded to microseconds, so that they are short in JSON. */
const PRECISION = 1_000;

/** The exponentially weighted average after one more call. The first average is the latency of the first call. */
export function averageLatency(before: number | null, latencyMs: number): number {
  const average = before === null ? latencyMs : before + WEIGHT * (latencyMs - before);
  return Math.round(average * PRECISION) / PRECISION;
}
