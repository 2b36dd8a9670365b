import 'reflect-metadata';
import type { IncomingMessage } from 'node:http';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config/config.schema.js';
import { ApiError } from '../problems/api.error.js';
import { type ErrorFormat, replyProblem } from '../problems/problem.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is not part of the API, such as the redirect to the documentation. */
    undocumented?: boolean;
    /** How large the body of the route may be. */
    body?: BodyClass;
    /** Which of a caller's limits on concurrent requests the route counts against. */
    kind?: RouteKind;
  }
}

/**
 * Extends the configuration of a Fastify route, which hooks read before the body is parsed. Nest passes the configuration of a
 * method to Fastify, so a class decorator adds it to every method of the class. The configuration of a method takes precedence.
 */
export function routeConfig(config: FastifyContextConfig): ClassDecorator & MethodDecorator {
  return (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (descriptor) return extend(descriptor.value as object, (own) => ({ ...own, ...config }));
    const { prototype } = target as { prototype: object };
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof value === 'function') extend(value, (own) => ({ ...config, ...own }));
    }
  };
}

function extend(method: object, merge: (own: FastifyContextConfig | undefined) => FastifyContextConfig): void {
  const own = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, method) as FastifyContextConfig | undefined;
  Reflect.defineMetadata(FASTIFY_ROUTE_CONFIG_METADATA, merge(own), method);
}

/** `small`: a few fields. `ordinary`: the configured limit. `batch`: 1,000 heartbeats. `result`: the answer of an agent, with its files. */
type BodyClass = 'small' | 'ordinary' | 'batch' | 'result';

/** `streams` are requests that stay open or read a lot. `waits` are requests that wait for a run. Each kind has its own limit. */
export type RequestKind = 'requests' | 'streams' | 'waits';
/** The kind of all requests to a route, or a function of their headers and query. */
export type RouteKind = RequestKind | ((request: FastifyRequest) => RequestKind);

/** Requests with a lease token are small, even if the route accepts larger bodies from an operator. Only results may be large. */
const LEASE_BODY_LIMIT = 16 * 1_024;
const BATCH_BODY_LIMIT = 1_024 * 1_024;
export const RESULT_BODY_LIMIT = 4 * 1_024 * 1_024;

/** Sets limits of a route that differ from the defaults. */
export function Limits(limits: { body?: BodyClass; kind?: RouteKind }): MethodDecorator & ClassDecorator {
  return routeConfig(limits);
}

export function bodyLimitOf(body: BodyClass | undefined, { bodyLimit }: Config['http']): number {
  if (body === 'small') return Math.min(LEASE_BODY_LIMIT, bodyLimit);
  if (body === 'result') return Math.max(RESULT_BODY_LIMIT, bodyLimit);
  return body === 'batch' ? Math.max(BATCH_BODY_LIMIT, bodyLimit) : bodyLimit;
}

/** The limit for a lease token. */
export function leaseBodyLimitOf(body: BodyClass | undefined, http: Config['http']): number {
  const limit = bodyLimitOf(body, http);
  return body === 'result' ? limit : Math.min(LEASE_BODY_LIMIT, limit);
}

export function bodyTooLarge(limit: number): ApiError {
  return new ApiError('BODY_TOO_LARGE', `The body of this request may have at most ${limit} bytes.`, {
    details: { limitBytes: limit },
  });
}

const UPGRADE_REQUIRED = new ApiError('UPGRADE_REQUIRED', 'Open a WebSocket here: send Upgrade: websocket.', {
  headers: { upgrade: 'websocket', connection: 'upgrade' },
});

interface Route {
  method: string;
  url: string;
  pattern: RegExp;
  errorFormat?: ErrorFormat;
}

/** All routes of the server, collected when they are added. */
export class RouteTable {
  private readonly routes: Route[] = [];
  private readonly sockets = new Set<string>();

  collectFrom(server: FastifyInstance): void {
    server.addHook('onRoute', ({ method, url, config }) => {
      if (config?.undocumented) return;
      const { errorFormat } = config ?? {};
      for (const one of [method].flat()) this.routes.push({ method: one, url, pattern: toPattern(url), errorFormat });
    });
  }

  /** A GET request to the path of a WebSocket gets 426 if it has no upgrade. */
  addSocket(path: string, server: FastifyInstance): void {
    this.sockets.add(path);
    server.get(path, { config: { access: 'public' } }, (_request, reply) => replyProblem(reply, UPGRADE_REQUIRED));
  }

  /**
   * Rejects methods other than POST on paths of actions, which look like paths of objects: `GET /v1/agents/query` gets 405, before its body is
   * parsed.
   */
  allowOnlyPost(paths: readonly string[], server: FastifyInstance): void {
    for (const url of paths) {
      const refuse = ({ method }: FastifyRequest, reply: FastifyReply): void =>
        replyProblem(reply, methodNotAllowed(url, method, ['POST']));
      server.route({
        method: ['GET', 'PUT', 'PATCH', 'DELETE'],
        url,
        config: { access: 'public', undocumented: true },
        preParsing: (request, reply, _body, _done) => refuse(request, reply),
        handler: refuse,
      });
    }
  }

  /** Whether a request is an upgrade to an existing WebSocket. All other requests are ordinary, even if they have an Upgrade header. */
  isSocket({ method, url = '', headers }: IncomingMessage): boolean {
    if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
    return this.sockets.has(url.split('?', 1)[0] ?? '');
  }

  methodsOf(path: string): string[] {
    const matches = this.routes.filter((route) => !route.url.includes('*') && route.pattern.test(path));
    return [...new Set(matches.map((route) => route.method))].toSorted();
  }

  /** The response to a request without a route. The path may support other methods. */
  notFound(method: string, url: string): ApiError {
    const path = url.split('?', 1)[0] ?? '';
    const allowed = this.methodsOf(path);
    if (allowed.length === 0)
      return new ApiError('ROUTE_NOT_FOUND', `There is no route ${method} ${path}. See /docs for all routes.`);
    return methodNotAllowed(path, method, allowed);
  }

  /** For errors that occur before Fastify has found the route, such as an invalid encoding of the path. */
  errorFormatOf(method: string, url: string): ErrorFormat | undefined {
    const path = url.split('?', 1)[0] ?? '';
    return this.routes.find((route) => route.method === method && route.pattern.test(path))?.errorFormat;
  }

  all(): string[] {
    return this.routes.map(({ method, url }) => `${method} ${url}`);
  }
}

function methodNotAllowed(path: string, method: string, allowed: readonly string[]): ApiError {
  const allow = allowed.join(', ');
  return new ApiError('METHOD_NOT_ALLOWED', `${path} supports ${allow}, not ${method}.`, { headers: { allow } });
}

function toPattern(url: string): RegExp {
  const escaped = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part)));
  return new RegExp(`^${escaped.join('/')}$`);
}
