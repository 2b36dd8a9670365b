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
  bodyLimit: setting(byteSize('256KB'), {
    env: 'ROLLCALL_BODY_LIMIT',
    about: 'Maximum size of a request body.',
    expects: 'a size such as 256KB or 1MB',
    defaultText: '256KB',
  }),
  requestTimeout: setting(duration('30s'), {
    env: 'ROLLCALL_REQUEST_TIMEOUT',
    about: 'How long a client may take to send its request.',
    expects: DURATION_FORMAT,
    defaultText: '30s',
  }),
  handlerTimeout: setting(duration('15s'), {
    env: 'ROLLCALL_HANDLER_TIMEOUT',
    about: 'How long the processing of a request may take before the response is 503.',
    expects: DURATION_FORMAT,
    defaultText: '15s',
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
  concurrentWaits: setting(integer(0, 1_000_000, 1_000), {
    env: 'ROLLCALL_CONCURRENT_WAITS',
    about:
      'Requests of one credential that wait for runs on a replica at the same time, in the REST API, A2A and MCP. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
  concurrentUnauthenticated: setting(integer(0, 1_000_000, 250), {
    env: 'ROLLCALL_CONCURRENT_UNAUTHENTICATED',
    about:
      'Requests of one address without a verified credential that a replica processes at the same time. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
});

export const idempotency = z.strictObject({
  keep: setting(duration('24h'), {
    env: 'ROLLCALL_IDEMPOTENCY_KEEP',
    about: 'How long the response to an `Idempotency-Key` is stored.',
    expects: DURATION_FORMAT,
    defaultText: '24h',
  }),
});
