import { Extensions, HTTP_EXTENSION_HEADER } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RUN_EXTENSION } from '#rollcall/providers';
import { closeSignal } from '../http/close.signal.js';
import { A2aAgents, type AddressedAgent } from './cards/a2a.agents.js';
import { type Binding, checkVersion } from './protocol.version.js';
import { callerOf, type Principal } from '../auth/principal.js';

/** The agent that a client addresses, by `agentId` in the path or by `tenant`. Without either, the client addresses Rollcall itself. */
export interface Address {
  readonly agentId?: string;
  readonly tenant?: string;
}

/** One request of an A2A client. */
export interface IncomingCall {
  readonly caller: Principal;
  /** The agent that the client addresses. */
  readonly agent: AddressedAgent;
  readonly request: FastifyRequest;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
}

/** Accepts the requests of A2A clients: finds the agent that a request addresses, and checks the version of the protocol. */
@Injectable()
export class IncomingCalls {
  constructor(private readonly agents: A2aAgents) {}

  /** Rejects if the agent does not exist, or does not offer the protocol version that the client uses. */
  async accept(reply: FastifyReply, address: Address, binding: Binding): Promise<IncomingCall> {
    const { request } = reply;
    const caller = callerOf(request);
    const agent = await this.agentAt(caller.namespace, address);
    checkVersion(request, agent.card, binding);
    activateExtensions(reply);
    return { caller, agent, request, signal: closeSignal(reply) };
  }

  private async agentAt(namespace: string, { agentId, tenant }: Address): Promise<AddressedAgent> {
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
  if (requested?.includes(RUN_EXTENSION)) void reply.header(HTTP_EXTENSION_HEADER, RUN_EXTENSION);
}
