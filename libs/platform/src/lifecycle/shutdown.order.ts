import { SetMetadata } from '@nestjs/common';

/**
 * The order in which the parts of a replica stop. A phase starts when all parts of the phase before it have stopped.
 * Before the first phase, the process reports that it is not ready and waits until the proxy sends no more requests
 * (`apps/api/src/boot/shutdown.ts`).
 */
export const SHUTDOWN_ORDER = [
  'background', // no new periodic pass starts, and leased work is handed over to other replicas
  'server', // Nest closes the HTTP server: requests in progress end, connections close
  'writes', // batches in progress commit
  'sequencer', // the last staged events are moved to the log
  'feed', // reading of events stops
  'database', // the connection pools close
] as const;

export type ShutdownPhase = (typeof SHUTDOWN_ORDER)[number];
/** The phases that a part can declare. Nest itself closes the server. */
export type PartPhase = Exclude<ShutdownPhase, 'server'>;

export const STOPS_IN = 'rollcall:stops-in';

/** Runs a method of a provider once, in this phase of the shutdown. */
export function StopsIn(phase: PartPhase): MethodDecorator {
  return SetMetadata(STOPS_IN, phase);
}
