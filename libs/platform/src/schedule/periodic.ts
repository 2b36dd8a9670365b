import { SetMetadata } from '@nestjs/common';

export const PERIODIC = 'rollcall:periodic';

export interface PeriodicOptions {
  /** Unique in the process, such as `registry.sweep`; also the name in log events and metrics. */
  name: string;
  everyMs: number;
}

/**
 * Runs a method of a provider at a fixed interval: never twice at the same time, with failures logged and counted, and awaited
 * at shutdown. Tests call the method itself.
 */
export function Periodic(name: string, everyMs: number): MethodDecorator {
  return SetMetadata(PERIODIC, { name, everyMs } satisfies PeriodicOptions);
}
