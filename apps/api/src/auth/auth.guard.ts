import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../http/api.error.js';
import { Authenticator, type Credentialed } from './authenticator.js';
import type { Permission } from './permissions.js';
import type { Principal } from './principal.js';
import { RateLimiter } from './rate.limiter.js';
import { ROUTE_ACCESS, type RouteAccess } from './route.access.js';
import { principalOf } from './socket.principal.js';

declare module 'fastify' {
  interface FastifyRequest {
    principal?: Principal;
  }
}

/**
 * Deny by default: a request passes only when its route says who may call it and its credential says it may. Requests are
 * authenticated before their body is parsed (`RouteAdmission`); the guard decides again, by what the handler itself declares.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  private readonly declared = new Map<unknown, RouteAccess>();

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly limiter: RateLimiter,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const access = this.accessOf(context);
    if (access === 'public') return true;
    if (context.getType() === 'ws') return this.allow(principalOf(context.switchToWs().getClient()), access);
    const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
    if (!principal) throw new ApiError('FORBIDDEN', 'This request was not authenticated, so it may not go on.');
    return permit(principal, access);
  }

  /** Who sent a request, if they may send it. At once when the credential was seen lately. */
  enter(request: Credentialed, access: Permission): Principal | Promise<Principal> {
    const principal = this.authenticator.authenticate(request);
    if (!(principal instanceof Promise)) return this.admit(principal, access);
    return principal.then((found) => this.admit(found, access));
  }

  /** What a route says about itself does not change, so it is looked up once. */
  private accessOf(context: ExecutionContext): RouteAccess {
    const handler = context.getHandler();
    const known = this.declared.get(handler);
    if (known) return known;
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, [
      handler,
      context.getClass(),
    ]);
    if (!access) throw new ApiError('FORBIDDEN', 'This route does not say who may call it, so no one may.');
    this.declared.set(handler, access);
    return access;
  }

  private admit(principal: Principal, access: Permission): Principal {
    this.allow(principal, access);
    return principal;
  }

  /** Once for each request, and once for each message on a socket. */
  allow(principal: Principal, access: Permission): boolean {
    this.limiter.spend(principal);
    return permit(principal, access);
  }
}

function permit(principal: Principal, access: Permission): true {
  if (principal.permissions.includes(access)) return true;
  throw new ApiError(
    'FORBIDDEN',
    `This needs the permission ${access}; ${principal.name} has the roles ${principal.roles.join(', ') || '(none)'}.`,
  );
}
