import { compare, print } from './support/compare.js';
import { startBare, startRollcall } from './support/servers.js';

/** Measures the cost of authentication, limits, headers, metrics and context on a route that does nothing else. */
const bare = await startBare();
const rollcall = await startRollcall();
try {
  for (const connections of [16, 64]) {
    const scores = await compare(
      [
        { name: 'bare NestJS + Fastify, GET /noop', load: { url: bare.url, requestsOf: () => [{ path: '/noop' }] } },
        {
          name: 'Rollcall, authenticated GET /v1/me',
          load: { url: rollcall.url, requestsOf: () => [{ path: '/v1/me', headers: rollcall.headers }] },
        },
      ],
      connections,
    );
    print(`${connections} connections`, scores);
  }
} finally {
  await Promise.all([bare.stop(), rollcall.stop()]);
}
