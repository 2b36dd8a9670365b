import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { ALL_NAMESPACES, NAMESPACE_PATTERN } from '#rollcall/platform';
import { ROLES } from '../auth/permissions.js';
import { byName, integer, json, list, pairs, setting } from './setting.js';

const GroupRule = z.strictObject({
  group: z.string().min(1).max(255),
  roles: z.array(z.enum(ROLES)).min(1),
  namespace: z.string().refine((name) => name === ALL_NAMESPACES || NAMESPACE_PATTERN.test(name)),
});

export const auth = z.strictObject({
  adminKey: setting(
    z
      .string()
      .regex(/^[\w~+/=-]{32,200}$/)
      .optional(),
    {
      env: 'ROLLCALL_ADMIN_KEY',
      about:
        'The admin API key, for deployments. A new value revokes the previous key. Without this setting, the first start creates a key.',
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
  oidcNamespaceClaim: setting(z.string().min(1).default('namespace'), {
    env: 'ROLLCALL_OIDC_NAMESPACE_CLAIM',
    about:
      'Claim with the namespace of the token, or with a list of namespaces; `*` means all. Without this claim and without a matching group, the token belongs to `default`.',
    expects: 'the name of a claim',
  }),
  oidcGroups: setting(json().pipe(z.array(GroupRule)).default([]), {
    env: 'ROLLCALL_OIDC_GROUPS',
    about:
      'The roles that the members of a group have in a namespace. The groups of a token are those of its claim `groups`. In the environment: one line of JSON, such as `[{"group":"team-a-dev","roles":["agent","viewer"],"namespace":"team-a"}]`.',
    expects: 'a list of objects with group, roles and namespace',
    defaultText: 'none',
  }),
});

/** Whether the keys of an issuer may be fetched from a URL: over https, or over plain http from this machine or if the operator allows it. */
export function mayFetchKeysFrom(url: string, { oidcPlainHttp }: Pick<z.infer<typeof auth>, 'oidcPlainHttp'>): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:') return protocol === 'https:';
  return oidcPlainHttp === 'allow' || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}

const MAX_QUOTA = 10_000_000;
const QUOTAS = {
  agents: integer(0, MAX_QUOTA, 10_000),
  reservations: integer(0, MAX_QUOTA, 10_000),
  budgetShare: integer(0, 100, 25),
  webhooks: integer(0, MAX_QUOTA, 100),
  contracts: integer(0, MAX_QUOTA, 1_000),
  queuedRuns: integer(0, MAX_QUOTA, 2_000),
  queuedRunsOfNamespace: integer(0, MAX_QUOTA, 10_000),
  pushConfigs: integer(0, MAX_QUOTA, 1_000),
  definitions: integer(0, MAX_QUOTA, 10_000),
  kilobytesPerMinute: integer(0, MAX_QUOTA, 60_000),
  kilobytesPerMinuteOfNamespace: integer(0, MAX_QUOTA, 300_000),
};

/** How many objects one credential may have at the same time, independent of its role. */
export const quotas = setting(byName(QUOTAS), {
  env: 'ROLLCALL_QUOTAS',
  about:
    'How many objects one credential may have at the same time: live agents, held reservations, webhooks, open contracts, push configurations, and queued runs in each namespace. `queuedRunsOfNamespace` limits the queued runs of all credentials of a namespace, and `definitions` the stored revisions of definitions in a namespace. `budgetShare` is the percentage of a shared budget that one credential may hold in reservations. `kilobytesPerMinute` and `kilobytesPerMinuteOfNamespace` limit what a credential and a namespace store on each replica: runs, messages, contracts with their invitations, budgets of runs, registrations, and responses that are kept for an Idempotency-Key. A limit that is not named keeps the value of the previous source; `0` disables it. In rollcall.yaml: a group such as `quotas: { agents: 500 }`.',
  expects: `names with whole numbers up to ${MAX_QUOTA}, each name once, such as agents=10000,webhooks=100`,
  mergedLevels: 1,
  parse: pairs,
  defaultText: Object.entries(QUOTAS)
    .map(([name, limit]) => `${name}=${limit.parse(undefined)}`)
    .join(','),
});

/** The name of a quota, for the message of a request that exceeds it. */
export function quotaSetting(name: keyof typeof QUOTAS): string {
  return `quotas.${name} (ROLLCALL_QUOTAS)`;
}
