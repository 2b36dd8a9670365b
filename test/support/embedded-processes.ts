import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { until } from '#rollcall/test-support';
import { newFolder, RollcallProcess, serversOn } from './process.js';

/** Processes with an embedded Postgres. Each test has a new data folder, and ends the processes that it started. */
export class EmbeddedProcesses {
  /** The data folder of the current test. */
  folder = '';
  private readonly running: RollcallProcess[] = [];

  private constructor(
    /** The data folder of a process that has started once. Most tests use a copy, because a first start takes several seconds. */
    readonly initialised: string,
    /** The exit code and the output of that process, with JSON logs. */
    readonly firstStart: { code: number | string; output: string },
  ) {}

  static async initialise(): Promise<EmbeddedProcesses> {
    const initialised = newFolder();
    const first = await new RollcallProcess({ ROLLCALL_DATA_DIR: initialised }).ready();
    return new EmbeddedProcesses(initialised, { code: await first.end(), output: first.output });
  }

  beforeTest(): void {
    this.folder = newFolder();
  }

  async afterTest(): Promise<void> {
    for (const one of this.running.splice(0)) await one.end('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }

  remove(): void {
    rmSync(this.initialised, { recursive: true, force: true });
  }

  start(
    environment: Record<string, string> = {},
    options: ConstructorParameters<typeof RollcallProcess>[1] = {},
  ): RollcallProcess {
    const started = new RollcallProcess({ ROLLCALL_DATA_DIR: this.folder, ...environment }, options);
    this.running.push(started);
    return started;
  }

  /** Copies the initialised data to the folder of this test. `cp -a` keeps the modes of the files, because Postgres checks them. */
  copyInitialised(): void {
    execFileSync('cp', ['-a', `${this.initialised}/.`, this.folder]);
  }

  startAgain(environment: Record<string, string> = {}): RollcallProcess {
    this.copyInitialised();
    return this.start(environment);
  }

  async untilNoServer(): Promise<void> {
    await until('no Postgres uses the folder', () => serversOn(this.folder).length === 0);
  }
}
