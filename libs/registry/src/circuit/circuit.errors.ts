import { RegistryError } from '../errors.js';

/** The agent failed too often, and one caller at most may try it now. */
export class CircuitOpenError extends RegistryError {
  readonly code = 'CIRCUIT_OPEN';

  constructor(
    agentId: string,
    override readonly retryAfterMs: number,
  ) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super(`The circuit of the agent "${agentId}" is open. Ask another one, or this one again in ${seconds} s.`);
  }
}
