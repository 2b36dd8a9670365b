import { z } from 'zod';
import { DURATION_FORMAT, duration, json, list, setting } from './setting.js';

/** A private key of the curve P-256, as JWK. */
const PrivateKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string().min(1),
  y: z.string().min(1),
  d: z.string().min(1),
  kid: z.string().min(1).max(100).optional(),
});
const MAX_KEYS = 2;

export const a2a = z.strictObject({
  signingKeys: setting(json().pipe(z.array(PrivateKey).max(MAX_KEYS)).default([]), {
    env: 'ROLLCALL_A2A_SIGNING_KEYS',
    about:
      'Private keys that sign the A2A cards, as JWK. All replicas need the same keys. During a rotation, set the new and the old key: cards then have two signatures. Without keys, cards are not signed. In the environment: one line of JSON.',
    expects: 'a list of at most two private JWKs of the curve P-256',
    secret: true,
    defaultText: 'none',
  }),
});

/** The SDK of MCP compares host names in lower case. */
const lowerCase = (hosts: string[]): string[] => hosts.map((host) => host.toLowerCase());
const HOST_NAME = /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)$/;
const areHostNames = (hosts: string[]): boolean => hosts.every((host) => HOST_NAME.test(host));

export const mcp = z.strictObject({
  allowedHosts: setting(list([]).transform(lowerCase).refine(areHostNames), {
    env: 'ROLLCALL_MCP_ALLOWED_HOSTS',
    about:
      'Further host names, without a scheme and a port, that MCP clients may send in `Host`, and whose web pages may call MCP from a browser (`Origin`). Requests without `Origin` are accepted, because they do not come from a page. The name in `ROLLCALL_PUBLIC_URL`, the name in `HOST` and this machine (`localhost`, `127.0.0.1`, `[::1]`) are always allowed.',
    expects: 'host names without scheme and port, separated by commas, such as app.example.com',
  }),
});

const LABEL = /^[\w./-]{1,63}=.{0,256}$/;
const DOMAIN = /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/;

export const catalog = z.strictObject({
  publicLabel: setting(
    z
      .string()
      .regex(LABEL)
      .transform((text) => ({ key: text.slice(0, text.indexOf('=')), value: text.slice(text.indexOf('=') + 1) }))
      .optional(),
    {
      env: 'ROLLCALL_CATALOG_LABEL',
      about:
        'The label of the agents that the public catalogs list (see catalogs.md). Anyone who can reach the API can then read the name, description, price, health and load of these agents without a credential. Without this setting, the catalogs are empty.',
      expects: 'a label and its value, such as visibility=public',
      defaultText: 'none',
    },
  ),
  publisher: setting(z.string().regex(DOMAIN).optional(), {
    env: 'ROLLCALL_CATALOG_PUBLISHER',
    about:
      'Your domain, which is part of all identifiers in the catalogs. Without it, they contain the host of `ROLLCALL_PUBLIC_URL`. Identifiers must not change, so set it before you publish.',
    expects: 'a domain such as example.com',
    defaultText: 'the host of the public URL',
  }),
});

export const langfuse = z.strictObject({
  baseUrl: setting(z.url().default('https://cloud.langfuse.com'), {
    env: 'LANGFUSE_BASE_URL',
    about:
      'URL of Langfuse, for agents with `source: langfuse`. An internal address must also be allowed by `ROLLCALL_EGRESS_ALLOW`.',
    expects: 'a URL',
  }),
  publicKey: setting(z.string().min(1).optional(), {
    env: 'LANGFUSE_PUBLIC_KEY',
    about: 'Public key of the Langfuse project. Langfuse is used only if both keys are set.',
    expects: 'a key such as pk-lf-…',
  }),
  secretKey: setting(z.string().min(1).optional(), {
    env: 'LANGFUSE_SECRET_KEY',
    about: 'Secret key of the Langfuse project.',
    expects: 'a key such as sk-lf-…',
    secret: true,
  }),
  refreshEvery: setting(duration('5m'), {
    env: 'ROLLCALL_LANGFUSE_REFRESH_EVERY',
    about: 'How often Rollcall reads the usage of agents from Langfuse.',
    expects: DURATION_FORMAT,
    defaultText: '5m',
  }),
});

const optionalText = z.string().min(1).optional();

export const nats = z.strictObject({
  url: setting(
    z
      .string()
      .regex(/^(nats|tls):\/\/[^\s,]+(,(nats|tls):\/\/[^\s,]+)*$/)
      .optional(),
    {
      env: 'NATS_URL',
      about: 'Publish every event to JetStream on this NATS server. Separate several servers of one cluster by commas.',
      expects: 'one or more URLs such as nats://nats-1:4222',
      secret: true,
    },
  ),
  stream: setting(
    z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .default('ROLLCALL'),
    {
      env: 'NATS_STREAM',
      about: 'Name of the stream. It is created if it does not exist; an existing stream is not changed.',
      expects: '1 to 100 characters out of A-Z a-z 0-9 _ -',
    },
  ),
  subjectPrefix: setting(
    z
      .string()
      .regex(/^[\w-]+(\.[\w-]+)*$/)
      .default('rollcall.events'),
    {
      env: 'NATS_SUBJECT_PREFIX',
      about:
        'A subject is this prefix, the namespace and the type of the event: `rollcall.events.default.agent.joined`.',
      expects: 'words separated by dots',
    },
  ),
  credentials: setting(optionalText, {
    env: 'NATS_CREDENTIALS_FILE',
    about: 'Path of a `.creds` file to authenticate with.',
    expects: 'a path',
  }),
  user: setting(optionalText, {
    env: 'NATS_USER',
    about: 'User to authenticate with, together with `NATS_PASSWORD`.',
    expects: 'a name',
  }),
  password: setting(optionalText, {
    env: 'NATS_PASSWORD',
    about: 'Password of `NATS_USER`.',
    expects: 'a password',
    secret: true,
  }),
  token: setting(optionalText, {
    env: 'NATS_TOKEN',
    about: 'Token to authenticate with, instead of a user.',
    expects: 'a token',
    secret: true,
  }),
});
