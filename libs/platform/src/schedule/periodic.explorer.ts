import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { PERIODIC, type PeriodicOptions } from './periodic.js';
import { PeriodicTask } from './periodic.task.js';

type Instance = Record<string, unknown>;

/** Finds the methods that are decorated with `@Periodic` and runs them through the scheduler of Nest. */
@Injectable()
export class PeriodicExplorer implements OnApplicationBootstrap {
  private readonly all: PeriodicTask[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
    private readonly scheduler: SchedulerRegistry,
  ) {}

  get tasks(): readonly PeriodicTask[] {
    return this.all;
  }

  onApplicationBootstrap(): void {
    for (const { instance } of this.discovery.getProviders()) {
      if (typeof instance === 'object' && instance !== null) this.explore(instance as Instance);
    }
  }

  /** Settles when no pass is running any more. */
  async stop(): Promise<void> {
    for (const { name } of this.all) this.scheduler.deleteInterval(name);
    await Promise.all(this.all.map(async (task) => await task.stop()));
  }

  private explore(instance: Instance): void {
    const prototype = Object.getPrototypeOf(instance) as Instance | null;
    if (!prototype) return;
    for (const method of this.scanner.getAllMethodNames(prototype)) {
      const pass = instance[method] as () => Promise<unknown>;
      const options = this.reflector.get<PeriodicOptions | undefined>(PERIODIC, pass);
      if (options) this.schedule(options, async () => await pass.call(instance));
    }
  }

  private schedule({ name, everyMs }: PeriodicOptions, pass: () => Promise<unknown>): void {
    const task = new PeriodicTask(name, pass);
    this.scheduler.addInterval(
      name,
      setInterval(() => void task.run(), everyMs),
    ); // a duplicate name throws
    this.all.push(task);
  }
}
