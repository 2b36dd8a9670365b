import { existsSync } from 'node:fs';
import type { Runner } from './compare.js';
import type { LoadResult } from './load.js';
import type { SideOrder, Workload } from './loop.side.js';
import type { RunsOrder } from './rollcall-runs.side.js';
import { WorkerProcess } from './worker.process.js';

/** All sides have the flag of `npm start`. */
const FLAGS = ['--expose-gc', '--max-semi-space-size=64'];

const PEERS = new URL('../../../bench/peers/', import.meta.url);

/** The folder of the peers. If they are not installed, prints how to install them, and the process exits with 1. */
export function installedPeers(): URL | undefined {
  if (existsSync(new URL('node_modules', PEERS))) return PEERS;
  console.log('the peers are not installed, so there is no comparison with them: npm ci --prefix bench/peers');
  process.exitCode = 1;
  return undefined;
}

/** A side with a database of its own gets its settings from the environment. */
export function databaseSettings(url: string, poolSize: number): NodeJS.ProcessEnv {
  return { BENCH_DATABASE_URL: url, BENCH_POOL_SIZE: String(poolSize) };
}

/** One side of `bench:loop`, `bench:runs` or `bench:protocols`, in its own process. */
export class SideProcess implements Runner {
  private readonly worker: WorkerProcess;

  constructor(
    readonly name: string,
    module: URL,
    environment: NodeJS.ProcessEnv = {},
  ) {
    this.worker = new WorkerProcess(module, FLAGS, environment);
  }

  async run(seconds: number): Promise<LoadResult> {
    return await this.ask<LoadResult>({ measure: 'rate', seconds });
  }

  /** This side with other runs than 64 concurrent runs with ten tool calls. */
  with(workload: Workload, name = this.name): Runner {
    return { name, run: async (seconds) => await this.ask<LoadResult>({ measure: 'rate', seconds, ...workload }) };
  }

  /** In bytes for each concurrent run. */
  async heap(): Promise<number> {
    return await this.ask<number>({ measure: 'heap' });
  }

  stop(): void {
    this.worker.stop();
  }

  async ask<Answer>(order: SideOrder | RunsOrder): Promise<Answer> {
    return await this.worker.ask<Answer>(order);
  }
}
