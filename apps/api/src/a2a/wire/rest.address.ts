import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Address } from '../a2a.address.js';

/** The three paths of each operation: for Rollcall itself, for one agent, and for an agent as the tenant of Rollcall. */
export const REST_PATHS = ['a2a', 'a2a/agents/:agentId', 'a2a/:tenant'];

/** The agent that a request of the HTTP+JSON binding addresses, as a parameter of a route. */
export const Addressed = createParamDecorator((_: unknown, context: ExecutionContext) =>
  addressOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

function addressOf({ params, query, body }: FastifyRequest): Address {
  const { agentId, tenant } = params as Address;
  if (agentId !== undefined || tenant !== undefined) return { agentId, tenant };
  const { tenant: given } = { ...(query as object), ...(body as object | undefined) } as { tenant?: unknown };
  return typeof given === 'string' ? { tenant: given } : {};
}
