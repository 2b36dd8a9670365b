import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { z } from 'zod';
import { ALL_NAMESPACES, DEFAULT_NAMESPACE, NAMESPACE_PATTERN } from '#rollcall/platform';
import { mayFetchKeysFrom } from '../../config/access.settings.js';
import type { Config } from '../../config/config.schema.js';
import { ApiError } from '../../http/problems/api.error.js';
import { isRole } from '../permissions.js';
import { type Grant, grantOf, type Identity } from './identity.js';

type KeySet = ReturnType<typeof createRemoteJWKSet>;

const FETCH_TIMEOUT_MS = 2_000;
const CLOCK_TOLERANCE_S = 5;
/** Error codes of invalid tokens. Any other error means that the token could not be checked. */
const INVALID_TOKEN =
  /^ERR_(JWT_|JWS_|JWKS_NO_MATCHING_KEY|JWKS_MULTIPLE_MATCHING_KEYS|JOSE_ALG_NOT_ALLOWED|JOSE_NOT_SUPPORTED)/;
const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Accepts JWTs with the configured issuer, audience and algorithms. */
@Injectable()
export class OidcVerifier {
  private keys?: Promise<KeySet>;

  constructor(private readonly settings: Config['auth']) {}

  /** Returns undefined when the token is invalid, and throws when it cannot be checked. */
  async verify(token: string, hash: Buffer): Promise<Identity | undefined> {
    const { oidcIssuer: issuer, oidcAudience: audience, oidcAlgorithms: algorithms } = this.settings;
    if (!issuer || !audience) return undefined;
    const keys = await this.keySet(issuer);
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_S,
      });
      return this.toIdentity(payload, hash);
    } catch (error) {
      if (error instanceof errors.JOSEError && INVALID_TOKEN.test(error.code)) return undefined;
      throw unavailable(error);
    }
  }

  /** Concurrent requests share one discovery. After a failure, the next request tries again. */
  private keySet(issuer: string): Promise<KeySet> {
    this.keys ??= this.discover(issuer).catch((error: unknown) => {
      this.keys = undefined;
      throw unavailable(error);
    });
    return this.keys;
  }

  private async discover(issuer: string): Promise<KeySet> {
    const uri = this.settings.oidcJwksUri ?? (await discoverJwksUri(issuer));
    if (!mayFetchKeysFrom(uri, this.settings)) throw new Error(`keys must not be fetched over plain http: ${uri}`);
    return createRemoteJWKSet(new URL(uri), { timeoutDuration: FETCH_TIMEOUT_MS });
  }

  private toIdentity(payload: JWTPayload, hash: Buffer): Identity | undefined {
    const subject = subjectOf(payload);
    if (subject === undefined) return undefined;
    const { exp = 0 } = payload;
    const id = `oidc:${subject}`;
    return {
      id,
      kind: 'oidc',
      owner: id,
      name: nameOf(payload, subject),
      grants: grantsOf(payload, this.settings),
      fingerprint: hash.toString('hex').slice(0, 16),
      expiresAt: new Date(exp * 1_000),
    };
  }
}

async function discoverJwksUri(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} returned ${response.status}`);
  const document = Discovery.parse(await response.json());
  if (document.issuer !== issuer) throw new Error(`${url} names the issuer ${document.issuer}, not ${issuer}`);
  return document.jwks_uri;
}

function unavailable(cause: unknown): ApiError {
  return new ApiError(
    'IDENTITY_PROVIDER_UNAVAILABLE',
    'The keys of the identity provider could not be fetched, so this token cannot be checked. Try again, or use an API key.',
    { retryAfterMs: 5_000 },
    { cause },
  );
}

/** OpenID Connect limits a subject to 255 characters. */
const MAX_LENGTH = 255;
const CONTROL = /\p{Cc}/u;

/** The subject of a token; undefined when it is not a text that can be compared, stored and displayed. */
function subjectOf({ sub }: JWTPayload): string | undefined {
  return isDisplayable(sub) ? sub : undefined;
}

/** The display name: the claim `name` if it can be displayed, else the subject. */
function nameOf({ name }: JWTPayload, subject: string): string {
  return isDisplayable(name) ? name : subject;
}

function isDisplayable(claim: unknown): claim is string {
  if (typeof claim !== 'string' || claim.length > MAX_LENGTH) return false;
  return claim.trim() !== '' && claim.isWellFormed() && !CONTROL.test(claim);
}

const MAX_NAMESPACES = 100;

type GrantSettings = Pick<Config['auth'], 'oidcRolesClaim' | 'oidcNamespaceClaim' | 'oidcGroupsClaim' | 'oidcGroups'>;

/**
 * The access that a token gives: the roles of its roles claim, in each namespace of its namespace claim, and what the configuration
 * grants to its groups. A token without a namespace claim and without a known group gives access to `default`. A namespace claim
 * without a valid namespace gives no access by itself.
 */
function grantsOf(payload: JWTPayload, settings: GrantSettings): Grant[] {
  const roles = claimAt(payload, settings.oidcRolesClaim).filter(isRole);
  const namespaces = claimAt(payload, settings.oidcNamespaceClaim).filter(isNamespace).slice(0, MAX_NAMESPACES);
  const groups = claimAt(payload, settings.oidcGroupsClaim);
  const byGroup = settings.oidcGroups
    .filter(({ group }) => groups.includes(group))
    .map((rule) => grantOf(rule.namespace, rule.roles));
  const named = namespaces.map((namespace) => grantOf(namespace, roles));
  const grants = [...named, ...byGroup];
  const isUnnamed = grants.length === 0 && valueAt(payload, settings.oidcNamespaceClaim) === undefined;
  return isUnnamed ? [grantOf(DEFAULT_NAMESPACE, roles)] : grants;
}

function isNamespace(value: unknown): value is string {
  return typeof value === 'string' && (value === ALL_NAMESPACES || NAMESPACE_PATTERN.test(value));
}

/** The values of a claim: a list, or a text with values separated by spaces. Dots in the path address nested claims. */
function claimAt(payload: JWTPayload, path: string): unknown[] {
  const value = valueAt(payload, path);
  if (Array.isArray(value)) return value;
  return typeof value === 'string' ? value.split(' ') : [];
}

function valueAt(payload: JWTPayload, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((branch, key) => (branch as Record<string, unknown> | null | undefined)?.[key], payload);
}
