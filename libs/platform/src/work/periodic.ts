import { Injectable, type OnApplicationBootstrap, SetMetadata } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { DecoratedMethods } from '../lifecycle/decorated.methods.js';
import { StopsIn } from '../lifecycle/shutdown.js';

const PERIODIC = 'rollcall:periodic';

interface PeriodicOptions {
  /** A name such as `registry.sweep`, unique in the process. Log events and metrics use it. */
  name: string;
  everyMs: number;
}

/**
 * Runs a method of a provider at a fixed interval. Passes never overlap, failures are logged and counted, and the
 * shutdown waits for a pass in progress. Tests call the method directly.
 */
export function Periodic(name: string, everyMs: number): MethodDecorator {
  return SetMetadata(PERIODIC, { name, everyMs } satisfies PeriodicOptions);
}

/** Runs one periodic method, one pass at a time. */
export class PeriodicTask {
  private running?: Promise<void>;
  private stopped = false;
  failures = 0;
  passes = 0;

  constructor(
    readonly name: string,
    private readonly pass: () => Promise<unknown>,
    private readonly faults: BackgroundFaults,
  ) {}

  /** Starts a pass, unless one is running or the task was stopped. Never rejects. */
  async run(): Promise<void> {
    if (this.stopped) return;
    this.running ??= this.attempt().finally(() => (this.running = undefined));
    await this.running;
  }

  /** Prevents new passes, and resolves when the pass in progress has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async attempt(): Promise<void> {
    this.passes += 1;
    try {
      await this.pass();
    } catch (error) {
      this.failures += 1;
      this.faults.report(this.name, error);
    }
  }
}

/** Finds the methods with `@Periodic` and runs them with the scheduler of Nest. */
@Injectable()
export class PeriodicExplorer implements OnApplicationBootstrap {
  private readonly all: PeriodicTask[] = [];

  constructor(
    private readonly methods: DecoratedMethods,
    private readonly scheduler: SchedulerRegistry,
    private readonly faults: BackgroundFaults,
  ) {}

  get tasks(): readonly PeriodicTask[] {
    return this.all;
  }

  onApplicationBootstrap(): void {
    for (const { options, call } of this.methods.find<PeriodicOptions>(PERIODIC)) this.schedule(options, call);
  }

  /** Resolves when all passes in progress have ended. */
  @StopsIn('background')
  async stop(): Promise<void> {
    for (const { name } of this.all) {
      if (this.scheduler.doesExist('interval', name)) this.scheduler.deleteInterval(name);
    }
    await Promise.all(this.all.map(async (task) => await task.stop()));
  }

  private schedule({ name, everyMs }: PeriodicOptions, pass: () => Promise<unknown>): void {
    const task = new PeriodicTask(name, pass, this.faults);
    this.scheduler.addInterval(
      name,
      setInterval(() => void task.run(), everyMs),
    ); // throws if the name is already in use
    this.all.push(task);
  }
}

/**
 * Repeats a pass that handles at most `limit` rows in one short transaction, until a pass handles fewer rows. Returns how
 * many rows all passes handled.
 */
export async function inBatches(limit: number, pass: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let handled = limit; handled === limit; total += handled) handled = await pass(limit);
  return total;
}
