import { SetMetadata } from '@nestjs/common';

export const PERIODIC = 'rollcall:periodic';

export interface PeriodicOptions {
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
