import { z } from 'zod';
import { DURATION_FORMAT, NETWORKS_FORMAT, byteSize, duration, integer, networks, setting } from './setting.js';

export const http = z.strictObject({
  host: setting(z.string().min(1).default('127.0.0.1'), {
    env: 'HOST',
    about:
      'Address to listen on. The default accepts connections from this machine only; use `0.0.0.0` behind a proxy.',
    expects: 'an address or host name',
  }),
  port: setting(integer(0, 65_535, 8080), {
    env: 'PORT',
    about: 'Port to listen on. `0` chooses any free port and prints it.',
    expects: 'a whole number from 0 to 65535',
  }),
  publicUrl: setting(z.url({ protocol: /^https?$/ }).optional(), {
    env: 'ROLLCALL_PUBLIC_URL',
    about:
      'The URL at which clients reach this installation, with the path that a proxy adds. A2A cards contain it. Without it, they contain the address on which the replica listens.',
    expects: 'a URL such as https://rollcall.example.com',
  }),
  trustedProxies: setting(networks(), {
    env: 'ROLLCALL_TRUSTED_PROXIES',
    about:
      'Addresses or CIDR ranges of the proxies whose `X-Forwarded-For` is trusted. If empty, the header is ignored.',
    expects: NETWORKS_FORMAT,
  }),
  console: setting(z.enum(['on', 'off']).default('on'), {
    env: 'ROLLCALL_CONSOLE',
    about: 'Whether the web console is served at `/console/`, to which a browser is redirected from `/`.',
    expects: 'on or off',
  }),
  bodyLimit: setting(byteSize('256KB'), {
    env: 'ROLLCALL_BODY_LIMIT',
    about: 'Maximum size of a request body.',
    expects: 'a size such as 256KB or 1MB',
    defaultText: '256KB',
  }),
  keepAliveTimeout: setting(duration('75s'), {
    env: 'ROLLCALL_KEEP_ALIVE_TIMEOUT',
    about: 'How long an idle connection is kept. Must be longer than the keep-alive timeout of the proxy (nginx: 60s).',
    expects: DURATION_FORMAT,
    defaultText: '75s',
  }),
  rateLimit: setting(integer(0, 1_000_000, 1_000), {
    env: 'ROLLCALL_RATE_LIMIT',
    about: 'Requests per second of one credential, on each replica. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
  publicRateLimit: setting(integer(0, 1_000_000, 200), {
    env: 'ROLLCALL_PUBLIC_RATE_LIMIT',
    about:
      'Requests per second of one address to routes that need no credential, on each replica; a search in the catalog counts as 10. `/health/*` has no limit. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
  concurrentRequests: setting(integer(0, 1_000_000, 100), {
    env: 'ROLLCALL_CONCURRENT_REQUESTS',
    about: 'Requests of one credential that a replica processes at the same time. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
  concurrentStreams: setting(integer(0, 1_000_000, 50), {
    env: 'ROLLCALL_CONCURRENT_STREAMS',
    about:
      'WebSockets, event streams, event pages and snapshots of one credential that a replica serves at the same time. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
});

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const log = z.strictObject({
  level: setting(z.enum(LEVELS).default('info'), {
    env: 'LOG_LEVEL',
    about: 'Lowest level that is logged.',
    expects: `one of ${LEVELS.join(', ')}`,
  }),
  format: setting(z.enum(['auto', 'json', 'pretty']).default('auto'), {
    env: 'LOG_FORMAT',
    about: '`json` for log collectors, `pretty` for people. `auto` uses `pretty` if the output is a terminal.',
    expects: 'auto, json or pretty',
  }),
  requests: setting(z.enum(['all', 'errors', 'none']).default('errors'), {
    env: 'LOG_REQUESTS',
    about: 'Which requests are logged. Metrics and traces always cover all requests.',
    expects: 'all, errors or none',
  }),
});

export const shutdown = z.strictObject({
  drainDelay: setting(duration('0s'), {
    env: 'ROLLCALL_DRAIN_DELAY',
    about:
      'How long a stopping replica serves requests after `/health/ready` returns 503, so that the proxy can notice this. Use `5s` on Kubernetes.',
    expects: DURATION_FORMAT,
    defaultText: '0s',
  }),
  timeout: setting(duration('30s'), {
    env: 'ROLLCALL_SHUTDOWN_TIMEOUT',
    about:
      'How long the shutdown waits for requests in progress, and for calls of agents that must not be repeated, before the process ends. ' +
      'The supervisor of the process must wait at least this long and `ROLLCALL_DRAIN_DELAY` before it kills the process.',
    expects: DURATION_FORMAT,
    defaultText: '30s',
  }),
});
