import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { ALL_NAMESPACES } from '#rollcall/platform';
import { ApiError } from '../http/problems/api.error.js';
import { Problems } from '../http/problems/problem.docs.js';
import { routeConfig } from '../http/server/routes.js';
import type { Permission } from './permissions.js';
import type { Principal } from './principal.js';

export const ROUTE_ACCESS = 'rollcall:access';
export type RouteAccess = Permission | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route. */
    access?: RouteAccess;
    /** How many requests one request to a public route counts as. The default is 1; 0: the route has no limits. */
    cost?: number;
  }
}

/** The permission that a route requires. A route without `Permit` or `Public` rejects every request and fails the census test. */
export function Permit(permission: Permission): ClassDecorator & MethodDecorator {
  return applyDecorators(
    SetMetadata(ROUTE_ACCESS, permission),
    routeConfig({ access: permission }),
    ApiBearerAuth(),
    Problems('UNAUTHENTICATED', { FORBIDDEN: `The credential lacks the permission \`${permission}\`.` }),
  );
}

/**
 * Anybody may call the route. All public routes together have a limit by address, so each must send a prepared document
 * (`PreparedDocuments`) or have a bounded cost. A route that computes its answer states how many requests this is worth.
 */
export function Public({ cost = 1 }: { cost?: number } = {}): ClassDecorator & MethodDecorator {
  const config = { access: 'public', cost } as const;
  return applyDecorators(SetMetadata(ROUTE_ACCESS, 'public' satisfies RouteAccess), routeConfig(config));
}

/**
 * What a route concerns. `one`: the namespace of the request. `any`: the same, or all namespaces with `Rollcall-Namespace: *`.
 * `installation`: the whole installation, which requires a credential for all namespaces.
 */
export type NamespaceScope = 'one' | 'any' | 'installation';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent: `one`. */
    scope?: NamespaceScope;
  }
}

export function Scope(scope: NamespaceScope): ClassDecorator & MethodDecorator {
  return routeConfig({ scope });
}

export function checkScope(scope: NamespaceScope, principal: Principal): void {
  if (scope === 'installation' && !principal.hasAllNamespaces)
    throw new ApiError(
      'FORBIDDEN',
      'This request concerns all namespaces, so it requires a credential for all of them.',
    );
  if (scope === 'one' && principal.namespace === ALL_NAMESPACES)
    throw new ApiError(
      'NAMESPACE_REQUIRED',
      'This request concerns one namespace: send its name in the header Rollcall-Namespace, not `*`.',
    );
}
