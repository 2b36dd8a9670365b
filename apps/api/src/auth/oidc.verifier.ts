import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import type { Config } from '../config/config.schema.js';
import { mayFetchKeysFrom } from '../config/oidc.constraints.js';
import { ApiError } from '../http/problems/api.error.js';
import type { Identity } from './identity.js';
import { nameOf, subjectOf } from './oidc.claims.js';
import { grantsOf } from './oidc.grants.js';

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
