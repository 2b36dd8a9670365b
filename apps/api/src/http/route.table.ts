import type { FastifyInstance } from 'fastify';

interface Route {
  method: string;
  url: string;
  pattern: RegExp;
}

/** Every route the server has, collected while they are added. */
export class RouteTable {
  private readonly routes: Route[] = [];

  collectFrom(server: FastifyInstance): void {
    server.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) this.routes.push({ method: one, url, pattern: toPattern(url) });
    });
  }

  methodsOf(path: string): string[] {
    const found = this.routes.filter((route) => !route.url.includes('*') && route.pattern.test(path));
    return [...new Set(found.map((route) => route.method))].toSorted();
  }

  all(): string[] {
    return this.routes.map(({ method, url }) => `${method} ${url}`);
  }
}

function toPattern(url: string): RegExp {
  const escaped = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part)));
  return new RegExp(`^${escaped.join('/')}$`);
}
