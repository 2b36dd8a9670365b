import { A2A_VERSION_HEADER, type AgentCard, Extensions, HTTP_EXTENSION_HEADER } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { A2A_LEGACY_PROTOCOL_VERSION } from '@a2a-js/sdk/compat/v0_3';
import { validateVersion } from '@a2a-js/sdk/server';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { closeSignal } from '../http/close.signal.js';
import type { A2aAgent } from './a2a.agent.js';
import { A2aAgents } from './a2a.agents.js';
import type { A2aCall } from './a2a.call.js';
import { A2aServices } from './a2a.services.js';
import { EXTENSION } from './agent.card.js';
import { RunHandler } from './run.handler.js';

export type Binding = 'JSONRPC' | 'HTTP+JSON';

/** Which agent a client addresses: in the path, as a tenant of Rollcall, or none of them. */
export interface Address {
  readonly agentId?: string;
  readonly tenant?: string;
}

/** Opens the requests of A2A clients. */
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
      throw new RequestMalformedError('The URL names one agent, and `tenant` another one. Leave `tenant` out.');
    const wanted = agentId ?? (tenant || undefined);
    return wanted === undefined ? this.agents.rollcall() : await this.agents.find(namespace, wanted);
  }
}

/** A request that names no version uses version 0.3. */
export function versionOf(request: FastifyRequest): string {
  return namedVersion(request) ?? A2A_LEGACY_PROTOCOL_VERSION;
}

/** The version is a header, or a parameter of the query. */
export function namedVersion({ headers, query }: FastifyRequest): string | undefined {
  const given = headers[A2A_VERSION_HEADER.toLowerCase()] || (query as Record<string, unknown>)[A2A_VERSION_HEADER];
  return typeof given === 'string' && given !== '' ? given : undefined;
}

function checkVersion(request: FastifyRequest, card: AgentCard, binding: Binding): void {
  validateVersion(versionOf(request), card, binding);
}

function activateExtensions(reply: FastifyReply): void {
  const requested = Extensions.parseServiceParameter(
    String(reply.request.headers[HTTP_EXTENSION_HEADER.toLowerCase()] ?? ''),
  );
  if (requested?.includes(EXTENSION)) void reply.header(HTTP_EXTENSION_HEADER, EXTENSION);
}
