import { z } from 'zod';
import { oidcAccess } from './oidc-access.settings.js';
import { list, setting } from './setting.js';

/** Only asymmetric algorithms: with a shared secret, every verifier could also sign tokens. */
const JWT_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

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
