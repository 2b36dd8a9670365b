import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService, type LeaseCredential } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { SocketAccess } from '../auth/socket.access.js';
import { requiredOwner } from './agent.claim.js';
import { readClaim } from './beat.reader.js';

export const AGENT_SOCKET = '/v1/agents/ws';

/** Declares who may open the socket of an agent: the holder of its lease token, its owner, and operators. */
@Injectable()
export class AgentSocketAccess {
  constructor(access: SocketAccess, agents: AgentsService) {
    const check = async (request: URLSearchParams, principal: Principal): Promise<void> =>
      await agents.check(claimOf(request, principal));
    access.declare(AGENT_SOCKET, { permission: 'agents:self', check });
  }
}

export function claimOf(request: URLSearchParams, principal: Principal): LeaseCredential {
  const claim = readClaim(request.get('agentId'), request.get('generation'), principal.leaseHash ?? null);
  const agentId = qualifiedId(principal.namespace, claim.agentId);
  return { ...claim, agentId, owner: requiredOwner(principal) };
}
