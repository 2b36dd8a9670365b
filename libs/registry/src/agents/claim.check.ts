import type { DomainError } from '#rollcall/platform';
import {
  AgentNotFoundError,
  LeaseTokenError,
  NotTheOwnerError,
  RegisterAgainError,
  wrongGeneration,
} from './agent.errors.js';
import type { AgentRow } from './agent.row.js';
import type { AgentClaim } from './registration.js';

/** Returns the reason why the claim may not act for the agent, or undefined if it may. */
export function claimError(claim: AgentClaim, row: AgentRow | undefined): DomainError | undefined {
  const { agentId, generation, tokenHash, owner } = claim;
  if (!row) return new AgentNotFoundError(agentId);
  if (owner !== undefined && row.registeredBy !== owner) return NotTheOwnerError.ofAgent(agentId);
  if (row.leftAt) return new RegisterAgainError(agentId, row.leaveReason);
  if (tokenHash !== null && row.tokenHash !== tokenHash) return new LeaseTokenError(agentId);
  const current = Number(row.generation);
  if (generation !== null && generation !== current) return wrongGeneration(agentId, generation, current);
  return undefined;
}
