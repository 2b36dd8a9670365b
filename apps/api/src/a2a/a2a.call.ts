import type { RunKey } from '#rollcall/agent-runtime';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import type { A2aAgent } from './cards/a2a.agent.js';

/** One request of an A2A client. */
export interface A2aCall {
  readonly caller: Principal;
  /** The agent that the client addresses. */
  readonly agent: A2aAgent;
  readonly request: FastifyRequest;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
}

export function keyOf({ caller: { namespace } }: A2aCall, id: string): RunKey {
  return { namespace, id };
}
