import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService, type LeaseClaim } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { SocketAccess } from '../auth/socket.access.js';
import { requiredOwner } from './agent.claim.js';
import { readClaim } from './beat.reader.js';

export const AGENT_SOCKET = '/v1/agents/ws';

/** The socket of an agent is opened with its lease token, by its owner or by an operator. */
@Injectable()
export class AgentSocketAccess {
  constructor(access: SocketAccess, agents: AgentsService) {
    const check = async (request: URLSearchParams, principal: Principal): Promise<void> =>
      await agents.check(claimOf(request, principal));
    access.declare(AGENT_SOCKET, { permission: 'agents:self', check });
  }
}

export function claimOf(request: URLSearchParams, principal: Principal): LeaseClaim {
  const claim = readClaim(request.get('agentId'), request.get('generation'), principal.leaseHash ?? null);
  const agentId = qualifiedId(principal.namespace, claim.agentId);
  return { ...claim, agentId, owner: requiredOwner(principal) };
}
