import type { DomainError } from '#rollcall/platform';
import {
  AgentNotFoundError,
  LeaseTokenError,
  NotTheOwnerError,
  RegisterAgainError,
  wrongGeneration,
} from './agent.errors.js';
import type { LeaveReason } from './agent.record.js';

/** Proves which registration of an agent a write belongs to, and that the sender may act for it. */
export interface LeaseCredential {
  agentId: string;
  generation: number;
  /** Null when an operator or the owner acts for the agent. */
  tokenHash: string | null;
  /** The principal that must own the agent. Absent: the lease token is enough, or an operator acts for the agent. */
  owner?: string;
}

/** Like LeaseCredential, but an operator or the owner may omit the generation to act on the current registration. */
export interface AgentCredential extends Omit<LeaseCredential, 'generation'> {
  generation: number | null;
}

/** The facts of a registration that a credential is compared with. */
interface StoredRegistration {
  generation: string;
  tokenHash: string;
  registeredBy: string;
  leftAt: Date | null;
  leaveReason: LeaveReason | null;
}

/** Returns the reason why the sender may not act for the agent, or undefined if it may. */
export function credentialError(
  credential: AgentCredential,
  row: StoredRegistration | undefined,
): DomainError | undefined {
  const { agentId, generation, tokenHash, owner } = credential;
  if (!row) return new AgentNotFoundError(agentId);
  if (owner !== undefined && row.registeredBy !== owner) return NotTheOwnerError.ofAgent(agentId);
  if (row.leftAt) return new RegisterAgainError(agentId, row.leaveReason);
  if (tokenHash !== null && row.tokenHash !== tokenHash) return new LeaseTokenError(agentId);
  const current = Number(row.generation);
  if (generation !== null && generation !== current) return wrongGeneration(agentId, generation, current);
  return undefined;
}
