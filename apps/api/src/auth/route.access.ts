import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { Problems } from '../http/problems/problem.docs.js';
import { routeConfig } from '../http/server/routes.js';
import type { Permission } from './permissions.js';

export const ROUTE_ACCESS = 'rollcall:access';
export type RouteAccess = Permission | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route. */
    access?: RouteAccess;
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

export function Public(): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(ROUTE_ACCESS, 'public' satisfies RouteAccess), routeConfig({ access: 'public' }));
}
