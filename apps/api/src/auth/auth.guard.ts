import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../http/problems/api.error.js';
import { CallerLimits } from '../limits/caller.limits.js';
import { Authenticator, type RequestCredentials } from './credentials/authenticator.js';
import type { Permission } from './permissions.js';
import { type Principal, principalOf } from './principal.js';
import { ROUTE_ACCESS, type RouteAccess } from './route.access.js';

/**
 * Denies by default: a request passes only if its route declares a permission and its credential has it. `RouteAdmission`
 * authenticates requests before their body is parsed; the guard checks the permission again, as the handler declares it.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  private readonly declared = new Map<unknown, RouteAccess>();

  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly limits: CallerLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const access = this.accessOf(context);
    if (access === 'public') return true;
    if (context.getType() === 'ws') return this.allow(principalOf(context.switchToWs().getClient()), access);
    const { principal } = context.switchToHttp().getRequest<FastifyRequest>();
    if (!principal) throw new ApiError('FORBIDDEN', 'This request is not authenticated.');
    return permit(principal, access);
  }

  /** Throws if the principal of the request lacks the permission. Returns no promise if the credential is cached. */
  authorize(request: RequestCredentials, access: Permission): Principal | Promise<Principal> {
    const principal = this.authenticator.authenticate(request);
    if (!(principal instanceof Promise)) return this.admit(principal, access);
    return principal.then((resolved) => this.admit(resolved, access));
  }

  /** Metadata of a route does not change, so it is read once. */
  private accessOf(context: ExecutionContext): RouteAccess {
    const handler = context.getHandler();
    const known = this.declared.get(handler);
    if (known) return known;
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, [
      handler,
      context.getClass(),
    ]);
    if (!access) throw new ApiError('FORBIDDEN', 'This route declares no permission, so nobody may call it.');
    this.declared.set(handler, access);
    return access;
  }

  private admit(principal: Principal, access: Permission): Principal {
    this.allow(principal, access);
    return principal;
  }

  /** Call this once for each request, and once for each message on a socket: it counts against the rate limit. */
  allow(principal: Principal, access: Permission): boolean {
    this.limits.countRequest(principal);
    return permit(principal, access);
  }
}

/** Throws FORBIDDEN if the principal lacks the permission. */
export function permit(principal: Principal, access: Permission): true {
  if (principal.permissions.includes(access)) return true;
  throw new ApiError(
    'FORBIDDEN',
    `This request requires the permission ${access}; ${principal.name} has the roles ${principal.roles.join(', ') || '(none)'}. ` +
      adviceFor(principal, access),
  );
}

function adviceFor({ kind }: Principal, access: Permission): string {
  if (kind === 'lease') return 'A lease token is only for writes of its agent: use an API key here.';
  if (access === 'agents:self') return 'Use the lease token of the agent, which its registration returned.';
  return 'Use a credential whose roles include this permission; GET /v1/me lists the permissions of a credential.';
}
