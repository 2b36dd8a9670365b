import { Extensions, HTTP_EXTENSION_HEADER } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { closeSignal } from '../http/close.signal.js';
import type { Address } from './a2a.address.js';
import type { A2aAgent } from './cards/a2a.agent.js';
import { A2aAgents } from './cards/a2a.agents.js';
import type { A2aCall } from './a2a.call.js';
import { A2aServices } from './a2a.services.js';
import { EXTENSION } from './cards/agent.card.js';
import { type Binding, checkVersion } from './protocol.version.js';
import { RunHandler } from './a2a.handler.js';

/** Creates the handler for each request of an A2A client. */
@Injectable()
export class A2aCalls {
  constructor(
    private readonly services: A2aServices,
    private readonly agents: A2aAgents,
  ) {}

  /** Rejects if the agent does not exist, or does not offer the protocol version that the client uses. */
  async open(reply: FastifyReply, address: Address, binding: Binding): Promise<RunHandler> {
    const { request } = reply;
    const caller = callerOf(request);
    const agent = await this.agentAt(caller.namespace, address);
    checkVersion(request, agent.card, binding);
    activateExtensions(reply);
    const call: A2aCall = { caller, agent, request, signal: closeSignal(reply) };
    return new RunHandler(this.services, call);
  }

  private async agentAt(namespace: string, { agentId, tenant }: Address): Promise<A2aAgent> {
    if (agentId !== undefined && tenant && tenant !== agentId)
      throw new RequestMalformedError('The URL names one agent and `tenant` names another. Leave `tenant` out.');
    const wanted = agentId ?? (tenant || undefined);
    return wanted === undefined ? this.agents.rollcall(namespace) : await this.agents.getWithTasks(namespace, wanted);
  }
}

function activateExtensions(reply: FastifyReply): void {
  const requested = Extensions.parseServiceParameter(
    String(reply.request.headers[HTTP_EXTENSION_HEADER.toLowerCase()] ?? ''),
  );
  if (requested?.includes(EXTENSION)) void reply.header(HTTP_EXTENSION_HEADER, EXTENSION);
}
