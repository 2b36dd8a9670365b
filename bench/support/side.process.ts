import type { Runner } from './compare.js';
import type { LoadResult } from './load.js';
import type { SideOrder } from './loop.side.js';
import type { RunsOrder } from './rollcall-runs.side.js';
import { WorkerProcess } from './worker.process.js';

/** All sides have the flag of `npm start`. */
const FLAGS = ['--expose-gc', '--max-semi-space-size=64'];

/** One side of `bench:loop` or `bench:runs`, in its own process. */
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
