import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** The build puts the console beside the API. When the sources are executed, the build is in dist. */
const PLACES = ['../../../console', '../../../../dist/apps/console'];
const FOLDER = PLACES.map((place) => resolve(import.meta.dirname, place)).find((folder) =>
  existsSync(join(folder, 'assets')),
);

/** The page loads only files of this server, runs no inline script or style, and is not embedded in another page. */
const CONSOLE_HEADERS: Record<string, string> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/**
 * Serves the web console at /console/. All its addresses are relative, so it works below any path that a proxy adds. The redirect is
 * relative, too.
 */
export async function serveConsole(app: NestFastifyApplication): Promise<void> {
  if (FOLDER === undefined) throw new Error('The web console is not built. Run: node bin/build.js');
  const assets = join(FOLDER, 'assets'); // their names contain a hash of their content
  const server = app.getHttpAdapter().getInstance();
  server.get('/console', { config: { access: 'public' } }, (_request, reply) => reply.redirect('console/'));
  await server.register(fastifyStatic, {
    root: FOLDER,
    prefix: '/console/',
    decorateReply: false,
    preCompressed: true,
    dotfiles: 'ignore',
    cacheControl: false,
    setHeaders: (reply, path) => {
      const cached = path.startsWith(assets) ? 'public, max-age=31536000, immutable' : 'no-cache';
      void reply.headers(CONSOLE_HEADERS).header('cache-control', cached);
    },
  });
}

/** The page that `/` leads to: the console for a browser, else the documentation of the API. It is relative, like all addresses. */
export function startPageFor(accept: string | undefined, hasConsole: boolean): string {
  return hasConsole && accept?.includes('text/html') ? 'console/' : 'docs';
}
