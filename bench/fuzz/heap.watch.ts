import { median } from '../support/compare.js';
import type { FuzzServer } from './fuzz.server.js';

const MB = 1_024 * 1_024;
/** Samples of this first part of the run are ignored: caches fill and code is compiled. */
const WARM_UP = 0.4;
/** Growth below this is noise, even in a short run. */
const LEAST_GROWTH_MB = 24;
const LEAST_SLOPE_MB_PER_MINUTE = 8;

export interface HeapReport {
  firstMb: number;
  lastMb: number;
  growthMb: number;
  slopeMbPerMinute: number;
  grows: boolean;
}

/** Samples the memory of the server after a garbage collection, and decides at the end whether it grows steadily. */
export class HeapWatch {
  private readonly samples: { minute: number; mb: number }[] = [];

  constructor(private readonly server: FuzzServer) {}

  async sample(): Promise<void> {
    const bytes = await this.server.heap();
    if (bytes !== undefined) this.samples.push({ minute: performance.now() / 60_000, mb: bytes / MB });
  }

  report(): HeapReport {
    const warm = this.samples.slice(Math.floor(this.samples.length * WARM_UP));
    const third = Math.max(1, Math.floor(warm.length / 3));
    const firstMb = median(warm.slice(0, third).map(({ mb }) => mb));
    const lastMb = median(warm.slice(-third).map(({ mb }) => mb));
    const growthMb = lastMb - firstMb;
    const slope = slopeOf(warm);
    const grows = growthMb > LEAST_GROWTH_MB && slope > LEAST_SLOPE_MB_PER_MINUTE;
    return {
      firstMb: round(firstMb),
      lastMb: round(lastMb),
      growthMb: round(growthMb),
      slopeMbPerMinute: round(slope),
      grows,
    };
  }
}

/** The slope by least squares, in MB per minute. */
function slopeOf(samples: readonly { minute: number; mb: number }[]): number {
  const count = Math.max(1, samples.length);
  const meanX = samples.reduce((sum, { minute }) => sum + minute, 0) / count;
  const meanY = samples.reduce((sum, { mb }) => sum + mb, 0) / count;
  const over = samples.reduce((sum, { minute, mb }) => sum + (minute - meanX) * (mb - meanY), 0);
  const under = samples.reduce((sum, { minute }) => sum + (minute - meanX) ** 2, 0);
  return under === 0 ? 0 : over / under;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
