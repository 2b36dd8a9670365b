import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService, type LeaseClaim } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { SocketAccess } from '../auth/socket.access.js';
import { readClaim } from './beat.reader.js';

export const AGENT_SOCKET = '/v1/agents/ws';

/** An agent may open its socket only with the lease token of its registration. */
@Injectable()
export class AgentSocketAccess {
  constructor(access: SocketAccess, agents: AgentsService) {
    const check = async (request: URLSearchParams, principal: Principal): Promise<void> =>
      await agents.check(claimOf(request, principal));
    access.declare(AGENT_SOCKET, { permission: 'agents:self', check });
  }
}

export function claimOf(request: URLSearchParams, { leaseHash, namespace }: Principal): LeaseClaim {
  const claim = readClaim(request.get('agentId'), request.get('generation'), leaseHash ?? null);
  return { ...claim, agentId: qualifiedId(namespace, claim.agentId) };
}
