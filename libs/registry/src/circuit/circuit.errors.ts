import { localIdOf } from '#rollcall/platform';
import { RegistryError } from '../errors.js';

/** The circuit of the agent is open, or another caller holds its probe slot. */
export class CircuitOpenError extends RegistryError {
  readonly code = 'CIRCUIT_OPEN';

  constructor(
    agentId: string,
    override readonly retryAfterMs: number,
  ) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super(
      `The circuit of the agent "${localIdOf(agentId)}" is open. Call another agent, or call this one again in ${seconds} s.`,
    );
  }
}
