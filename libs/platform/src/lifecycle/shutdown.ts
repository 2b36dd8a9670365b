import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { BackgroundFaults } from './background.faults.js';
import { DecoratedMethods } from './decorated.methods.js';
import { SHUTDOWN_ORDER, type ShutdownPhase, STOPS_IN } from './shutdown.order.js';

const SERVER = SHUTDOWN_ORDER.indexOf('server');

/**
 * Stops all parts that declare a phase with `@StopsIn`, in the order of `SHUTDOWN_ORDER`. A failure does not affect
 * other parts.
 */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    private readonly methods: DecoratedMethods,
    private readonly faults: BackgroundFaults,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    for (const phase of SHUTDOWN_ORDER.slice(0, SERVER)) await this.run(phase);
  }

  async onApplicationShutdown(): Promise<void> {
    for (const phase of SHUTDOWN_ORDER.slice(SERVER + 1)) await this.run(phase);
  }

  private async run(phase: ShutdownPhase): Promise<void> {
    const parts = this.methods.find<ShutdownPhase>(STOPS_IN).filter(({ options }) => options === phase);
    const results = await Promise.allSettled(parts.map(async (part) => await part.call()));
    for (const result of results) {
      if (result.status === 'rejected') this.faults.report(`shutdown.${phase}`, result.reason);
    }
  }
}
