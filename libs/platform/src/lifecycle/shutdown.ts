import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown, SetMetadata } from '@nestjs/common';
import { BackgroundFaults } from './background.faults.js';
import { DecoratedMethods } from './decorated.methods.js';

/**
 * The order in which the parts of a replica stop. A phase starts when all parts of the phase before it have stopped.
 * Before the first phase, the process reports that it is not ready and waits until the proxy sends no more requests
 * (`apps/api/src/boot/shutdown.ts`).
 */
const SHUTDOWN_ORDER = [
  'background', // no new periodic pass starts, and leased work is handed over to other replicas
  'server', // Nest closes the HTTP server: requests in progress end, connections close
  'writes', // batches in progress commit
  'sequencer', // the last staged events are moved to the log
  'feed', // reading of events stops
  'database', // the connection pools close
] as const;

type ShutdownPhase = (typeof SHUTDOWN_ORDER)[number];
/** The phases that a part can declare. Nest itself closes the server. */
type PartPhase = Exclude<ShutdownPhase, 'server'>;

const STOPS_IN = 'rollcall:stops-in';

/** Runs a method of a provider once, in this phase of the shutdown. */
export function StopsIn(phase: PartPhase): MethodDecorator {
  return SetMetadata(STOPS_IN, phase);
}

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
