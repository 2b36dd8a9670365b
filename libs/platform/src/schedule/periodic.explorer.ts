import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { DecoratedMethods } from '../lifecycle/decorated.methods.js';
import { StopsIn } from '../lifecycle/shutdown.order.js';
import { PERIODIC, type PeriodicOptions } from './periodic.js';
import { PeriodicTask } from './periodic.task.js';

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
