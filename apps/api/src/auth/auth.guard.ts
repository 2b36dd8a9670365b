import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../http/api.error.js';
import { requestContext } from '../http/request.context.js';
import { Authenticator } from './authenticator.js';
import type { Principal } from './principal.js';
import { RateLimiter } from './rate.limiter.js';
import { ROUTE_ACCESS, type RouteAccess } from './route.access.js';

declare module 'fastify' {
  interface FastifyRequest {
    principal?: Principal;
  }
}

/** Deny by default: a request passes only when its route says who may call it and its credential says it may. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly limiter: RateLimiter,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    if (!access) throw new ApiError('FORBIDDEN', 'This route does not say who may call it, so no one may.');
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const principal = this.authenticator.authenticate(request.headers.authorization, request.ip);
    if (principal instanceof Promise) return principal.then((found) => this.admit(found, access, request));
    return this.admit(principal, access, request);
  }

  private admit(principal: Principal, access: Exclude<RouteAccess, 'public'>, request: FastifyRequest): boolean {
    request.principal = principal;
    const context = requestContext.getStore();
    if (context) context.principal = principal;
    this.limiter.spend(principal.id);
    if (principal.permissions.has(access)) return true;
    throw new ApiError(
      'FORBIDDEN',
      `This needs the permission ${access}; ${principal.name} has the roles ${principal.roles.join(', ') || '(none)'}.`,
    );
  }
}
