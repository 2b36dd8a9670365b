import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ApiError } from './api.error.js';
import { type ErrorFormat, replyProblem } from './problem.reply.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route is not part of the API, such as the redirect to the documentation. */
    undocumented?: boolean;
  }
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

  /** Rejects methods other than POST on paths of actions, which look like paths of objects: `GET /v1/agents/query` gets 405. */
  allowOnlyPost(paths: readonly string[], server: FastifyInstance): void {
    for (const url of paths) {
      server.route({
        method: ['GET', 'PUT', 'PATCH', 'DELETE'],
        url,
        config: { access: 'public', undocumented: true },
        handler: ({ method }, reply) => replyProblem(reply, methodNotAllowed(url, method, ['POST'])),
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
