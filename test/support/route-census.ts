import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { App } from '../../apps/api/src/app.js';
import { ROUTE_ACCESS, type RouteAccess } from '../../apps/api/src/auth/route.access.js';
import { MUTATION, type MutationFacts } from '../../apps/api/src/mutation/mutation.facts.js';

export interface RouteFacts {
  /** `POST /v1/keys/:id/rotate` */
  route: string;
  access: RouteAccess | 'UNDECLARED';
  /** The audit name, `not audited`, or undefined when the route is no mutation. */
  mutation?: string;
}

type Handler = (...args: unknown[]) => unknown;
// oxlint-disable-next-line typescript/no-unsafe-function-type -- Nest's own word for "a controller class"
type Class = Function;

/** What every route of the application's controllers says about itself. */
export function declaredRoutes({ nest }: App, prefix: (path: string) => string): RouteFacts[] {
  const scanner = new MetadataScanner();
  return nest
    .get(DiscoveryService, { strict: false })
    .getControllers()
    .flatMap(({ metatype, instance }) => {
      const prototype = Object.getPrototypeOf(instance) as Record<string, Handler>;
      return scanner
        .getAllMethodNames(prototype)
        .filter((name) => Reflect.hasMetadata(METHOD_METADATA, prototype[name] as object))
        .map((name) => factsOf(metatype as Class, prototype[name] as Handler, prefix));
    })
    .toSorted((a, b) => a.route.localeCompare(b.route));
}

function factsOf(controller: Class, handler: Handler, prefix: (path: string) => string): RouteFacts {
  const read = <T>(key: string): T | undefined =>
    (Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller)) as T | undefined;
  const paths = [
    Reflect.getMetadata(PATH_METADATA, controller),
    Reflect.getMetadata(PATH_METADATA, handler),
  ] as string[];
  const path = `/${paths
    .flatMap((part) => part.split('/'))
    .filter(Boolean)
    .join('/')}`;
  const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod];
  const mutation = read<MutationFacts>(MUTATION);
  return {
    route: `${method} ${prefix(path)}`,
    access: read<RouteAccess>(ROUTE_ACCESS) ?? 'UNDECLARED',
    ...(mutation && { mutation: mutation.audit ?? 'not audited' }),
  };
}
