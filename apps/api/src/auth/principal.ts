import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ALL_NAMESPACES, type VisibleNamespaces } from '#rollcall/platform';
import type { ConcurrentCaller } from '../limits/concurrency.limiter.js';
import type { RateLimited } from '../limits/rate.limiter.js';
import type { Identity } from './credentials/identity.js';
import type { Permission, Role } from './permissions.js';

/** Who sends a request, and what the credential permits in the namespace of the request. */
export interface Principal extends Omit<Identity, 'grants'>, RateLimited, ConcurrentCaller {
  /** The namespace of the request; `*` if the request concerns all of them. */
  namespace: string;
  /** The namespaces that the credential gives access to; `*` for all. */
  namespaces: readonly string[];
  /**
   * Whether all these permissions apply in all namespaces. False if the credential has one of them only in the namespace of the
   * request: that permission must not reach objects outside this namespace.
   */
  hasAllNamespaces: boolean;
  roles: readonly Role[];
  /** Sorted. */
  permissions: readonly Permission[];
}

declare module 'fastify' {
  interface FastifyRequest {
    principal?: Principal;
  }
}

/** A principal without the counters of the replica that serves it. Only facts may be stored. */
export type PrincipalFacts = Omit<Principal, 'window' | 'slots'>;

/** Names each fact, so that what a replica adds to its principals is never stored. */
export function factsOf(principal: PrincipalFacts): PrincipalFacts {
  const { id, kind, owner, name, fingerprint, expiresAt, leaseHash, sessionHash } = principal;
  const { namespace, namespaces, hasAllNamespaces, roles, permissions } = principal;
  const secrets = { ...(leaseHash !== undefined && { leaseHash }), ...(sessionHash !== undefined && { sessionHash }) };
  const who = { id, kind, owner, name, fingerprint, expiresAt, ...secrets };
  return { ...who, namespace, namespaces, hasAllNamespaces, roles, permissions };
}

/** Objects that belong to no single namespace, such as keys for all namespaces, require access to all namespaces. */
export function visibleTo({ namespace, hasAllNamespaces }: Principal): VisibleNamespaces {
  if (namespace === ALL_NAMESPACES) return null;
  return hasAllNamespaces ? [namespace, ALL_NAMESPACES] : [namespace];
}

const principals = new WeakMap<object, Principal>();

/** Sets the principal of an upgrade request, and later of its socket. */
export function setPrincipal(holder: object, principal: Principal): void {
  principals.set(holder, principal);
}

export function principalOf(holder: object): Principal {
  const principal = principals.get(holder);
  if (!principal) throw new Error('the socket has no principal');
  return principal;
}

/** The principal of the request, as a parameter of a route. */
export const Caller = createParamDecorator((_: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

export function callerOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error(`${request.method} ${request.url} is public and has no caller`);
  return request.principal;
}
