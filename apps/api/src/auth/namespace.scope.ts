import { ALL_NAMESPACES } from '#rollcall/platform';
import { ApiError } from '../http/problems/api.error.js';
import { routeConfig } from '../http/server/routes.js';
import type { Principal } from './principal.js';

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
