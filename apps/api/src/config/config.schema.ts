import { isIP } from 'node:net';
import { z } from 'zod';
import { STATEMENTS_PER_TRANSACTION, DEFAULT_RESERVED_POOL_SIZE } from '#rollcall/platform';
import { ModelsConfigSchema, type ModelsConfig } from '#rollcall/providers';
import { budgets, langfuse } from './budget.settings.js';
import { quotas } from './quota.settings.js';
import { oidcAccess } from './oidc-access.settings.js';
import { circuit, discovery, flapping, protection, registry } from './registry.settings.js';
import { providers } from '../providers/providers.config.js';
import { DURATION_FORMAT, byteSize, duration, integer, json, list, setting } from './setting.js';
import { natsConfig, webhooksConfig } from './sinks.config.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** Only asymmetric algorithms: with a shared secret, every verifier could also sign tokens. */
const JWT_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const http = z.strictObject({
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
  trustedProxies: setting(
    list([]).refine((all) => all.every(isNetwork)),
    {
      env: 'ROLLCALL_TRUSTED_PROXIES',
      about:
        'Addresses or CIDR ranges of the proxies whose `X-Forwarded-For` is trusted. If empty, the header is ignored.',
      expects: 'addresses or CIDR ranges separated by commas, such as 10.0.0.0/8',
    },
  ),
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
    about: 'Requests per second and credential, on each replica. `0` disables the limit.',
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
  concurrentUnauthenticated: setting(integer(0, 1_000_000, 250), {
    env: 'ROLLCALL_CONCURRENT_UNAUTHENTICATED',
    about:
      'Requests of one address without a verified credential that a replica processes at the same time. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
});

const database = z.strictObject({
  url: setting(
    z
      .string()
      .regex(/^postgres(ql)?:\/\//)
      .refine((text) => URL.canParse(text))
      .optional(),
    {
      env: 'DATABASE_URL',
      about:
        'URL of an external Postgres, 15 or newer. Without it, an embedded Postgres runs in the data folder, for one process.',
      expects: 'a URL such as postgresql://user:password@host:5432/rollcall',
      secret: true,
    },
  ),
  poolSize: setting(integer(2, 1_000, 20), {
    env: 'ROLLCALL_DATABASE_POOL_SIZE',
    about: 'Maximum number of connections of each replica for requests and background work.',
    expects: 'a whole number from 2 to 1000',
  }),
  reservedPoolSize: setting(integer(1, 100, DEFAULT_RESERVED_POOL_SIZE), {
    env: 'ROLLCALL_DATABASE_RESERVED_POOL_SIZE',
    about: 'Additional connections of each replica, reserved for heartbeats, sweeps, the event log and readiness.',
    expects: 'a whole number from 1 to 100',
  }),
  operationTimeout: setting(duration('1500ms'), {
    env: 'ROLLCALL_DATABASE_TIMEOUT',
    about: 'Maximum time of one statement. After it, the response is 503.',
    expects: DURATION_FORMAT,
    defaultText: '1500ms',
  }),
  transactionFactor: setting(integer(1, 100, STATEMENTS_PER_TRANSACTION), {
    env: 'ROLLCALL_DATABASE_TRANSACTION_FACTOR',
    about:
      'A whole transaction may take this many times `database.operationTimeout`, and at most `http.handlerTimeout`.',
    expects: 'a whole number from 1 to 100',
  }),
  slowRoundTrip: setting(duration('500ms'), {
    env: 'ROLLCALL_DATABASE_SLOW_ROUND_TRIP',
    about:
      'When three consecutive round trips to the database take longer than this, `/health/ready` returns 503 until three consecutive ones are faster.',
    expects: DURATION_FORMAT,
    defaultText: '500ms',
  }),
  connectWait: setting(duration('30s'), {
    env: 'ROLLCALL_DATABASE_CONNECT_WAIT',
    about: 'How long the start waits until Postgres accepts connections.',
    expects: DURATION_FORMAT,
    defaultText: '30s',
  }),
});

const data = z.strictObject({
  dir: setting(z.string().min(1).default('.rollcall'), {
    env: 'ROLLCALL_DATA_DIR',
    about: 'Folder of the embedded Postgres and of `admin.key`.',
    expects: 'a path',
  }),
});

const auth = z.strictObject({
  adminKey: setting(
    z
      .string()
      .regex(/^[\w~+/=-]{32,200}$/)
      .optional(),
    {
      env: 'ROLLCALL_ADMIN_KEY',
      about:
        'The admin API key, for deployments. A new value revokes the previous one. Without it, the first start creates a key.',
      expects: '32 to 200 random characters out of A-Z a-z 0-9 _ ~ + / = - (for example: openssl rand -hex 32)',
      secret: true,
    },
  ),
  sealingKey: setting(
    list([]).refine((all) => all.every((key) => key.length >= 32)),
    {
      env: 'ROLLCALL_SEALING_KEY',
      about:
        'Encrypts the secrets of webhooks in the database. Must be the same on every replica. To replace it, put the new key in front of the old one. With the embedded Postgres, a key is created in the data folder.',
      expects:
        '32 random characters or more (for example: openssl rand -hex 32), or several of them separated by commas',
      secret: true,
    },
  ),
  oidcIssuer: setting(z.url().optional(), {
    env: 'ROLLCALL_OIDC_ISSUER',
    about:
      'Accept JWTs of this issuer. The value must be equal to the claim `iss`. The keys are found by OpenID discovery.',
    expects: 'a URL',
  }),
  oidcAudience: setting(z.string().min(1).optional(), {
    env: 'ROLLCALL_OIDC_AUDIENCE',
    about: 'The value that a JWT must have in `aud`. Required with an issuer.',
    expects: 'the name this API has at the issuer',
  }),
  oidcAlgorithms: setting(
    list(['RS256', 'ES256']).refine((all) => all.length > 0 && all.every((one) => JWT_ALGORITHMS.includes(one))),
    {
      env: 'ROLLCALL_OIDC_ALGORITHMS',
      about: 'Accepted signature algorithms.',
      expects: `one or more of ${JWT_ALGORITHMS.join(', ')}`,
    },
  ),
  oidcJwksUri: setting(z.url().optional(), {
    env: 'ROLLCALL_OIDC_JWKS_URI',
    about: 'URL of the keys of the issuer, if it has no discovery document.',
    expects: 'a URL',
  }),
  oidcPlainHttp: setting(z.enum(['refuse', 'allow']).default('refuse'), {
    env: 'ROLLCALL_OIDC_PLAIN_HTTP',
    about:
      'Whether the keys of the issuer may be fetched over plain http from another machine. Use `allow` only in a trusted network: an attacker who replaces the keys can sign tokens.',
    expects: 'refuse or allow',
  }),
  oidcRolesClaim: setting(z.string().min(1).default('roles'), {
    env: 'ROLLCALL_OIDC_ROLES_CLAIM',
    about: 'Claim that lists the roles. Dots address nested claims, as in `realm_access.roles`.',
    expects: 'the name of a claim',
  }),
  ...oidcAccess,
});

const log = z.strictObject({
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

const shutdown = z.strictObject({
  drainDelay: setting(duration('0s'), {
    env: 'ROLLCALL_DRAIN_DELAY',
    about:
      'How long a stopping replica serves requests after `/health/ready` returns 503, so that the proxy can notice (5s on Kubernetes).',
    expects: DURATION_FORMAT,
    defaultText: '0s',
  }),
  timeout: setting(duration('10s'), {
    env: 'ROLLCALL_SHUTDOWN_TIMEOUT',
    about: 'How long the shutdown waits for requests in progress before the process ends.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
});

const idempotency = z.strictObject({
  keep: setting(duration('24h'), {
    env: 'ROLLCALL_IDEMPOTENCY_KEEP',
    about: 'How long the response to an `Idempotency-Key` is stored.',
    expects: DURATION_FORMAT,
    defaultText: '24h',
  }),
});

/** This model needs neither a key nor a network, so Rollcall works without configuration. */
const DEMO_MODELS: ModelsConfig = { default: 'demo', presets: { demo: { vendor: 'scripted', model: 'echo' } } };

/** Validated but not parsed here: `PresetCatalog` parses the original value. */
const models = setting(
  json()
    .refine((value) => ModelsConfigSchema.safeParse(value).success)
    .transform((value) => value as ModelsConfig)
    .default(DEMO_MODELS),
  {
    env: 'ROLLCALL_MODELS',
    about:
      'The models that agents can use: presets, aliases and vendors (see providers.md). In the environment: one line of JSON.',
    expects: 'presets with a default among them, as described in providers.md',
    defaultText: 'one preset that needs no key',
  },
);
const events = z.strictObject({
  keep: setting(duration('7d'), {
    env: 'ROLLCALL_EVENTS_KEEP',
    about: 'How long events are kept. A consumer that was disconnected for longer needs a snapshot.',
    expects: DURATION_FORMAT,
    defaultText: '7d',
  }),
  keepCount: setting(integer(1, 1_000_000_000, 1_000_000), {
    env: 'ROLLCALL_EVENTS_KEEP_COUNT',
    about: 'Maximum number of events that are kept, independent of their age.',
    expects: 'a whole number from 1 to 1000000000',
  }),
  buffer: setting(byteSize('1MB'), {
    env: 'ROLLCALL_EVENTS_BUFFER',
    about: 'Maximum size of the send buffer of one WebSocket or SSE consumer.',
    expects: 'a size such as 256KB or 1MB',
    defaultText: '1MB',
  }),
  slowAfter: setting(duration('10s'), {
    env: 'ROLLCALL_EVENTS_SLOW_AFTER',
    about:
      'How long the send buffer may stay full before the consumer is disconnected. It gets the cursor to resume from.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
});

const egress = z.strictObject({
  allow: setting(
    list([]).refine((all) => all.every(isNetwork)),
    {
      env: 'ROLLCALL_EGRESS_ALLOW',
      about:
        'Networks that requests may be sent to beside the public Internet. Loopback addresses are also allowed with the embedded Postgres.',
      expects: 'addresses or CIDR ranges separated by commas, such as 10.0.0.0/8',
    },
  ),
});

export const ConfigSchema = z.strictObject({
  http: http.prefault({}),
  database: database.prefault({}),
  data: data.prefault({}),
  auth: auth.prefault({}),
  log: log.prefault({}),
  shutdown: shutdown.prefault({}),
  idempotency: idempotency.prefault({}),
  models,
  events: events.prefault({}),
  registry: registry.prefault({}),
  discovery: discovery.prefault({}),
  circuit: circuit.prefault({}),
  protection: protection.prefault({}),
  flapping: flapping.prefault({}),
  budgets: budgets.prefault({}),
  quotas: quotas.prefault({}),
  langfuse: langfuse.prefault({}),
  egress: egress.prefault({}),
  providers: providers.prefault({}),
  webhooks: webhooksConfig.prefault({}),
  nats: natsConfig.prefault({}),
});

export type Config = z.infer<typeof ConfigSchema>;

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (!family || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}
