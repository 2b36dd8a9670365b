import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { App } from '../../apps/api/src/app.js';
import { ROUTE_ACCESS, type RouteAccess } from '../../apps/api/src/auth/route.access.js';
import { MUTATION, type MutationOptions } from '../../apps/api/src/mutation/mutation.interceptor.js';

export interface RouteFacts {
  /** `POST /v1/keys/:id/rotate` */
  route: string;
  access: RouteAccess | 'UNDECLARED';
  /** The audit name, `not audited` or `repeatable`; undefined when the route declares no mutation. */
  mutation?: string;
}

type Handler = (...args: unknown[]) => unknown;
// oxlint-disable-next-line typescript/no-unsafe-function-type -- the type that Nest uses for a controller class
type Class = Function;

/** Returns what each route of the controllers declares: its access and its mutation. */
export function declaredRoutes({ nest }: App, prefix: (path: string) => string): RouteFacts[] {
  const controllers = nest.get(DiscoveryService, { strict: false }).getControllers();
  return controllers
    .flatMap(({ metatype }) => routesOf(metatype as Class, prefix))
    .toSorted((a, b) => a.route.localeCompare(b.route));
}

export function routesOf(controller: Class, prefix: (path: string) => string): RouteFacts[] {
  const prototype = controller.prototype as Record<string, Handler>;
  return new MetadataScanner()
    .getAllMethodNames(prototype)
    .flatMap((name) => prototype[name] ?? [])
    .filter((handler) => Reflect.hasMetadata(METHOD_METADATA, handler))
    .flatMap((handler) => factsOf(controller, handler, prefix));
}

/** A controller and a method may have several paths. */
function factsOf(controller: Class, handler: Handler, prefix: (path: string) => string): RouteFacts[] {
  const read = (key: string): unknown => Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller);
  const pathsOf = (target: Class | Handler): string[] =>
    [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat();
  const paths = pathsOf(controller).flatMap((base) => pathsOf(handler).map((path) => joined(base, path)));
  const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod];
  const mutation = read(MUTATION) as MutationOptions | undefined;
  const facts: Omit<RouteFacts, 'route'> = {
    access: (read(ROUTE_ACCESS) as RouteAccess | undefined) ?? 'UNDECLARED',
    ...(mutation && { mutation: mutation.audit ?? (mutation.repeatable ? 'repeatable' : 'not audited') }),
  };
  return paths.map((path) => Object.assign({ route: `${method} ${prefix(path)}` }, facts));
}

function joined(...paths: string[]): string {
  return `/${paths
    .flatMap((part) => part.split('/'))
    .filter(Boolean)
    .join('/')}`;
}

/** The path that the server uses. Most routes have the prefix of the version. */
export function served(path: string): string {
  return /^\/(health\/|metrics$|a2a\b|mcp\b|ard\b|v0\.1\/|\.well-known\/)/.test(path) ? path : `/v1${path}`;
}
