import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiForbiddenResponse, ApiUnauthorizedResponse } from '@nestjs/swagger';
import { routeConfig } from '../http/route.config.js';
import type { Permission } from './permissions.js';

export const ROUTE_ACCESS = 'rollcall:access';
export type RouteAccess = Permission | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route. */
    access?: RouteAccess;
  }
}

/** Who may call a route. Every route has this or `Public`; one without is refused and fails the census. */
export function Permit(permission: Permission): ClassDecorator & MethodDecorator {
  return applyDecorators(
    SetMetadata(ROUTE_ACCESS, permission),
    routeConfig({ access: permission }),
    ApiBearerAuth(),
    ApiUnauthorizedResponse({ description: 'UNAUTHENTICATED: no valid credential.' }),
    ApiForbiddenResponse({ description: `FORBIDDEN: the credential lacks \`${permission}\`.` }),
  );
}

export function Public(): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(ROUTE_ACCESS, 'public' satisfies RouteAccess), routeConfig({ access: 'public' }));
}
