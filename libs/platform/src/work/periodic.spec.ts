import { Injectable } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { DecoratedMethods } from '../lifecycle/decorated.methods.js';
import { RecordedFaults } from '../testing/test-events.js';
import { inBatches, Periodic, PeriodicExplorer, PeriodicTask } from './periodic.js';

@Injectable()
class Sweeper {
  passes = 0;

  @Periodic('test.sweep', 60_000)
  async sweep(): Promise<void> {
    this.passes += 1;
  }
}

async function boot(...providers: (new () => unknown)[]): Promise<TestingModule> {
  const module = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), DiscoveryModule],
    providers: [BackgroundFaults, DecoratedMethods, PeriodicExplorer, ...providers],
  }).compile();
  return await module.init();
}

describe('@Periodic', () => {
  it('registers the method with the scheduler and runs it on the instance', async () => {
    const module = await boot(Sweeper);
    const explorer = module.get(PeriodicExplorer);
    expect(module.get(SchedulerRegistry).getIntervals()).toEqual(['test.sweep']);
    await explorer.tasks[0]?.run();
    expect(module.get(Sweeper).passes).toBe(1);
    await explorer.stop();
    expect(module.get(SchedulerRegistry).getIntervals()).toEqual([]);
    await explorer.tasks[0]?.run();
    expect(module.get(Sweeper).passes).toBe(1);
    await module.close();
  });
});

describe('a periodic task', () => {
  it('never runs two passes at the same time', async () => {
    const gate = Promise.withResolvers<void>();
    const task = new PeriodicTask('test', async () => await gate.promise, new RecordedFaults());
    const runs = [task.run(), task.run()];
    expect(task.passes).toBe(1);
    gate.resolve();
    await Promise.all(runs);
    await task.run();
    expect(task.passes).toBe(2);
  });

  it('counts a failure and runs again', async () => {
    let failing = true;
    const faults = new RecordedFaults();
    const pass = async (): Promise<void> => {
      if (failing) throw new Error('the database is unavailable');
    };
    const task = new PeriodicTask('test', pass, faults);
    await task.run();
    failing = false;
    await task.run();
    expect([task.passes, task.failures]).toEqual([2, 1]);
    expect(faults.all).toEqual([new Error('the database is unavailable')]);
  });

  it('stops after the pass in progress has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const task = new PeriodicTask('test', async () => await gate.promise, new RecordedFaults());
    void task.run();
    let stopped = false;
    const stopping = task.stop().then(() => (stopped = true));
    await new Promise(setImmediate);
    expect(stopped).toBe(false);
    gate.resolve();
    await stopping;
    await task.run();
    expect(task.passes).toBe(1);
  });
});

describe('inBatches', () => {
  it.each([
    [0, 1],
    [9, 1],
    [10, 2],
    [25, 3],
  ])(
    'handles %i rows in %i passes of at most 10 rows, and stops after a pass that is not full',
    async (rows, passes) => {
      const limits: number[] = [];
      let left = rows;
      const total = await inBatches(10, (limit) => {
        limits.push(limit);
        const handled = Math.min(limit, left);
        left -= handled;
        return Promise.resolve(handled);
      });
      expect({ total, limits }).toEqual({ total: rows, limits: Array(passes).fill(10) });
    },
  );

  it('fails with the error of a failed pass', async () => {
    await expect(inBatches(10, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  });
});
