import { isIP } from 'node:net';
import { z } from 'zod';
import { STATEMENTS_PER_TRANSACTION, DEFAULT_RESERVED_POOL_SIZE } from '#rollcall/platform';
import { ModelsConfigSchema, type ModelsConfig } from '#rollcall/providers';
import { budgets, langfuse } from './budget.settings.js';
import { quotas } from './quota.settings.js';
import { circuit, discovery, flapping, protection, registry } from './registry.settings.js';
import { providers } from '../providers/providers.config.js';
import { A_DURATION, byteSize, duration, integer, json, list, setting } from './setting.js';
import { natsConfig, webhooksConfig } from './sinks.config.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** Only signatures by a private key: with a shared secret every verifier could also mint tokens. */
export const JWT_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
];

const http = z.strictObject({
  host: setting(z.string().min(1).default('127.0.0.1'), {
    env: 'HOST',
    about: 'Address to listen on. The default answers this machine only; use `0.0.0.0` behind a gateway.',
    expects: 'an address or host name',
  }),
  port: setting(integer(0, 65_535, 8080), {
    env: 'PORT',
    about: 'Port to listen on. `0` takes any free one and prints it.',
    expects: 'a whole number from 0 to 65535',
  }),
  trustedProxies: setting(
    list([]).refine((all) => all.every(isNetwork)),
    {
      env: 'ROLLCALL_TRUSTED_PROXIES',
      about: 'Addresses or CIDR ranges of the gateways whose `X-Forwarded-For` is believed. Empty: no one is.',
      expects: 'addresses or CIDR ranges separated by commas, such as 10.0.0.0/8',
    },
  ),
  bodyLimit: setting(byteSize('256KB'), {
    env: 'ROLLCALL_BODY_LIMIT',
    about: 'Largest request body.',
    expects: 'a size such as 256KB or 1MB',
    defaultText: '256KB',
  }),
  requestTimeout: setting(duration('30s'), {
    env: 'ROLLCALL_REQUEST_TIMEOUT',
    about: 'How long a client may take to send its request.',
    expects: A_DURATION,
    defaultText: '30s',
  }),
  handlerTimeout: setting(duration('15s'), {
    env: 'ROLLCALL_HANDLER_TIMEOUT',
    about: 'How long a request may be worked on before it is answered with 503.',
    expects: A_DURATION,
    defaultText: '15s',
  }),
  keepAliveTimeout: setting(duration('75s'), {
    env: 'ROLLCALL_KEEP_ALIVE_TIMEOUT',
    about: "How long an idle connection is kept. Must be longer than the gateway's own (nginx: 60s).",
    expects: A_DURATION,
    defaultText: '75s',
  }),
  rateLimit: setting(integer(0, 1_000_000, 1_000), {
    env: 'ROLLCALL_RATE_LIMIT',
    about: 'Requests per second and credential, on each replica. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000000',
  }),
  concurrentRequests: setting(integer(0, 1_000_000, 100), {
    env: 'ROLLCALL_CONCURRENT_REQUESTS',
    about: 'Requests of one credential that a replica works on at the same time. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000000',
  }),
  concurrentStreams: setting(integer(0, 1_000_000, 50), {
    env: 'ROLLCALL_CONCURRENT_STREAMS',
    about:
      'WebSockets, event streams, event pages and snapshots of one credential that a replica serves at the same time. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000000',
  }),
  concurrentUnauthenticated: setting(integer(0, 1_000_000, 250), {
    env: 'ROLLCALL_CONCURRENT_UNAUTHENTICATED',
    about:
      'Requests of one address that a replica works on at the same time before they have proven a credential, or without one. `0` switches the limit off.',
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
      about: 'An outside Postgres, 15 or newer. Without it an embedded one runs in the data folder, for one process.',
      expects: 'a URL such as postgresql://user:password@host:5432/rollcall',
      secret: true,
    },
  ),
  poolSize: setting(integer(2, 1_000, 20), {
    env: 'ROLLCALL_DATABASE_POOL_SIZE',
    about: 'Connections each replica may hold for requests and background work.',
    expects: 'a whole number from 2 to 1000',
  }),
  reservedPoolSize: setting(integer(1, 100, DEFAULT_RESERVED_POOL_SIZE), {
    env: 'ROLLCALL_DATABASE_RESERVED_POOL_SIZE',
    about: 'Connections each replica holds beside them, only for heartbeats, sweeps, the event log and readiness.',
    expects: 'a whole number from 1 to 100',
  }),
  operationTimeout: setting(duration('1500ms'), {
    env: 'ROLLCALL_DATABASE_TIMEOUT',
    about: 'The longest wait for the answer to one statement; then the request is answered with 503.',
    expects: A_DURATION,
    defaultText: '1500ms',
  }),
  transactionFactor: setting(integer(1, 100, STATEMENTS_PER_TRANSACTION), {
    env: 'ROLLCALL_DATABASE_TRANSACTION_FACTOR',
    about:
      'All statements of a transaction together may take this many times `database.operationTimeout`, and no longer than `http.handlerTimeout`.',
    expects: 'a whole number from 1 to 100',
  }),
  slowRoundTrip: setting(duration('500ms'), {
    env: 'ROLLCALL_DATABASE_SLOW_ROUND_TRIP',
    about:
      'When three round trips to the database in a row take longer than this, `/health/ready` is 503 until three in a row are faster.',
    expects: A_DURATION,
    defaultText: '500ms',
  }),
  connectWait: setting(duration('30s'), {
    env: 'ROLLCALL_DATABASE_CONNECT_WAIT',
    about: 'How long a start waits for a Postgres that is not there yet.',
    expects: A_DURATION,
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
        'A known admin API key, for deployments. Changing it revokes the one set before. Without it, the first start makes one.',
      expects: '32 to 200 random characters out of A-Z a-z 0-9 _ ~ + / = - (for example: openssl rand -hex 32)',
      secret: true,
    },
  ),
  sealingKey: setting(
    list([]).refine((all) => all.every((key) => key.length >= 32)),
    {
      env: 'ROLLCALL_SEALING_KEY',
      about:
        'Keeps secrets we must be able to read again, those of webhooks, sealed in the database. The same on every replica; to replace it, put the new one in front. With the embedded Postgres one is made in the data folder.',
      expects:
        '32 random characters or more (for example: openssl rand -hex 32), or several of them separated by commas',
      secret: true,
    },
  ),
  oidcIssuer: setting(z.url().optional(), {
    env: 'ROLLCALL_OIDC_ISSUER',
    about: 'Accept JWTs of this issuer, exactly as in their `iss`. Its keys are found by OpenID discovery.',
    expects: 'a URL',
  }),
  oidcAudience: setting(z.string().min(1).optional(), {
    env: 'ROLLCALL_OIDC_AUDIENCE',
    about: 'What a JWT must carry in `aud`. Required with an issuer.',
    expects: 'the name this API has at the issuer',
  }),
  oidcAlgorithms: setting(
    list(['RS256', 'ES256']).refine((all) => all.length > 0 && all.every((one) => JWT_ALGORITHMS.includes(one))),
    {
      env: 'ROLLCALL_OIDC_ALGORITHMS',
      about: 'Signature algorithms accepted.',
      expects: `one or more of ${JWT_ALGORITHMS.join(', ')}`,
    },
  ),
  oidcJwksUri: setting(z.url().optional(), {
    env: 'ROLLCALL_OIDC_JWKS_URI',
    about: "Where the issuer's keys are, if it has no discovery document.",
    expects: 'a URL',
  }),
  oidcPlainHttp: setting(z.enum(['refuse', 'allow']).default('refuse'), {
    env: 'ROLLCALL_OIDC_PLAIN_HTTP',
    about:
      "Whether the issuer's keys may be fetched over plain http from another machine. `allow` only in a network you trust: who can change the keys on the way can sign tokens.",
    expects: 'refuse or allow',
  }),
  oidcRolesClaim: setting(z.string().min(1).default('roles'), {
    env: 'ROLLCALL_OIDC_ROLES_CLAIM',
    about: 'Claim that lists roles; dots go deeper, as in `realm_access.roles`.',
    expects: 'the name of a claim',
  }),
});

const log = z.strictObject({
  level: setting(z.enum(LEVELS).default('info'), {
    env: 'LOG_LEVEL',
    about: 'Least level that is written.',
    expects: `one of ${LEVELS.join(', ')}`,
  }),
  format: setting(z.enum(['auto', 'json', 'pretty']).default('auto'), {
    env: 'LOG_FORMAT',
    about: '`json` for machines, `pretty` for people, `auto` looks whether the output is a terminal.',
    expects: 'auto, json or pretty',
  }),
  requests: setting(z.enum(['all', 'errors', 'none']).default('errors'), {
    env: 'LOG_REQUESTS',
    about: 'Which requests get a line of their own. Metrics and traces cover all of them in any case.',
    expects: 'all, errors or none',
  }),
});

const shutdown = z.strictObject({
  drainDelay: setting(duration('0s'), {
    env: 'ROLLCALL_DRAIN_DELAY',
    about:
      'How long to go on serving after `/health/ready` turned 503, so that the gateway can notice (5s on Kubernetes).',
    expects: A_DURATION,
    defaultText: '0s',
  }),
  timeout: setting(duration('10s'), {
    env: 'ROLLCALL_SHUTDOWN_TIMEOUT',
    about: 'How long requests under way may take to finish before the process ends anyway.',
    expects: A_DURATION,
    defaultText: '10s',
  }),
});

const idempotency = z.strictObject({
  keep: setting(duration('24h'), {
    env: 'ROLLCALL_IDEMPOTENCY_KEEP',
    about: 'How long the answer to an `Idempotency-Key` is remembered.',
    expects: A_DURATION,
    defaultText: '24h',
  }),
});

/** Answers without a key and without a network, so that everything can be tried at once. */
const DEMO_MODELS: ModelsConfig = { default: 'demo', presets: { demo: { vendor: 'scripted', model: 'echo' } } };

/** Checked here, and kept as it was written: the book of presets reads it again. */
const models = setting(
  json()
    .refine((value) => ModelsConfigSchema.safeParse(value).success)
    .transform((value) => value as ModelsConfig)
    .default(DEMO_MODELS),
  {
    env: 'ROLLCALL_MODELS',
    about:
      'The models agents can name: presets, aliases and vendors (see providers.md). In the environment: one line of JSON.',
    expects: 'presets, a default among them, and what else providers.md shows',
    defaultText: 'one preset that needs no key',
  },
);
const events = z.strictObject({
  keep: setting(duration('7d'), {
    env: 'ROLLCALL_EVENTS_KEEP',
    about: 'How long events are kept. A consumer that was away for longer needs a snapshot.',
    expects: A_DURATION,
    defaultText: '7d',
  }),
  keepCount: setting(integer(1, 1_000_000_000, 1_000_000), {
    env: 'ROLLCALL_EVENTS_KEEP_COUNT',
    about: 'How many events are kept at the most, whatever their age.',
    expects: 'a whole number from 1 to 1000000000',
  }),
  buffer: setting(byteSize('1MB'), {
    env: 'ROLLCALL_EVENTS_BUFFER',
    about: 'How much may wait for one WebSocket or SSE consumer that does not read.',
    expects: 'a size such as 256KB or 1MB',
    defaultText: '1MB',
  }),
  slowAfter: setting(duration('10s'), {
    env: 'ROLLCALL_EVENTS_SLOW_AFTER',
    about: 'How long that buffer may stay full before the consumer is cut off, with the cursor to resume from.',
    expects: A_DURATION,
    defaultText: '10s',
  }),
});

const egress = z.strictObject({
  allow: setting(
    list([]).refine((all) => all.every(isNetwork)),
    {
      env: 'ROLLCALL_EGRESS_ALLOW',
      about:
        'Networks agents may live in beside the public Internet. This machine itself is allowed with the embedded Postgres only.',
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
