import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { KeysService } from '#rollcall/platform';
import { hashOfToken, isLeaseToken } from '#rollcall/registry';
import { ApiError } from '../http/api.error.js';
import { keyIdOf, keyPrincipal, keyPrincipalId } from './key.principal.js';
import { leasePrincipal } from './lease.principal.js';
import { LeaseTokenVerifier } from './lease-token.verifier.js';
import { OidcVerifier } from './oidc.verifier.js';
import type { Principal } from './principal.js';
import { UnauthenticatedLimiter } from './unauthenticated.limiter.js';

/** After a key is revoked on one replica, the other replicas accept it for at most this time. */
const CACHE_MS = 2_000;
const MAX_CACHED_KEYS = 50_000;
const MAX_CACHED_LEASES = 100_000;

const HOW_TO = 'Send an API key or a token in this header: Authorization: Bearer <credential>';
const UNKNOWN = 'The credential is unknown, revoked or expired.';
const SCHEME = /^Bearer +(\S+)$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The part of a request that identifies its sender. */
export interface RequestCredentials {
  headers: { authorization?: string };
  ip: string;
}

interface CachedPrincipal {
  principal: Principal;
  freshUntil: number;
  epoch: number;
}

/** Finds the principal of a credential. Results are cached for a short time, so that most requests need no look-up. */
@Injectable()
export class Authenticator {
  private readonly cache = new LRUCache<string, CachedPrincipal>({ max: MAX_CACHED_KEYS });
  /** Verified lease tokens. They do not expire here: each statement checks that the token belongs to its agent. */
  private readonly leases = new LRUCache<string, Principal>({ max: MAX_CACHED_LEASES });
  private readonly pending = new Map<string, Promise<Principal>>();
  /** Incremented when a key changes. Cache entries of earlier epochs are not used. */
  private epoch = 0;

  constructor(
    private readonly keys: KeysService,
    private readonly oidc: OidcVerifier,
    private readonly leaseTokens: LeaseTokenVerifier,
    private readonly limiter: UnauthenticatedLimiter,
  ) {
    keys.onChange(() => (this.epoch += 1));
  }

  /** Returns the principal without a promise when the credential is cached. */
  authenticate(request: RequestCredentials): Principal | Promise<Principal> {
    const { authorization } = request.headers;
    if (!authorization) throw unauthenticated(HOW_TO);
    const lease = this.leases.get(authorization);
    if (lease) return lease;
    const cached = this.cache.get(authorization);
    if (cached && cached.epoch === this.epoch && cached.freshUntil > performance.now())
      return checkExpiry(cached.principal);
    return this.pending.get(authorization) ?? this.lookUp(request, authorization, cached !== undefined);
  }

  /** Caches a token that this replica has just issued, so that its first use needs no look-up. */
  cacheLease(token: string): void {
    this.leases.set(`Bearer ${token}`, leasePrincipal(hashOfToken(token)));
  }

  /** Returns the principals whose credential is valid now. Reads the database, not the cache. Leases always count as valid. */
  async filterValid(principals: readonly Principal[]): Promise<Set<Principal>> {
    const keys = principals.filter(({ kind }) => kind === 'key');
    const validIds = keys.length > 0 ? await this.keys.findValidIds(keys.map(({ id }) => keyIdOf(id))) : [];
    const valid = new Set(validIds.map(keyPrincipalId));
    const now = Date.now();
    const isValid = ({ kind, id, expiresAt }: Principal): boolean =>
      kind === 'lease' || (kind === 'key' ? valid.has(id) : expiresAt !== null && expiresAt.getTime() > now);
    return new Set(principals.filter(isValid));
  }

  /** Concurrent requests with the same credential share one look-up. A credential that was valid before is not limited. */
  private lookUp({ ip }: RequestCredentials, authorization: string, wasValid: boolean): Promise<Principal> {
    const token = SCHEME.exec(authorization)?.[1];
    if (!token) throw unauthenticated(HOW_TO);
    const find = async (): Promise<Principal> => await this.identify(authorization, token, wasValid);
    const lookUp = wasValid ? find() : this.limiter.lookUp(ip, find);
    const principal = lookUp.finally(() => this.pending.delete(authorization));
    this.pending.set(authorization, principal);
    return principal;
  }

  private async identify(authorization: string, token: string, wasValid: boolean): Promise<Principal> {
    if (isLeaseToken(token)) return await this.verifyLease(authorization, token);
    const { epoch } = this;
    const hash = createHash('sha256').update(token).digest();
    const principal = JWT.test(token) ? await this.oidc.verify(token, hash) : await this.ownerOf(hash, wasValid);
    if (!principal) {
      this.cache.delete(authorization);
      throw unauthenticated(UNKNOWN);
    }
    this.cache.set(authorization, { principal, freshUntil: performance.now() + CACHE_MS, epoch });
    return checkExpiry(principal);
  }

  /**
   * A key that was valid before is looked up on a reserved connection, so that its requests do not wait while writes use all
   * ordinary connections. An unknown key is looked up on an ordinary connection, because attackers who guess keys must not use the
   * connections that heartbeats need.
   */
  private async ownerOf(hash: Buffer, wasValid: boolean): Promise<Principal | undefined> {
    const key = await this.keys.findValid(hash, wasValid ? 'reserved' : 'ordinary');
    return key && keyPrincipal(key);
  }

  /** The response to an unknown token is always the same. It does not reveal whether an agent exists. */
  private async verifyLease(authorization: string, token: string): Promise<Principal> {
    const hash = hashOfToken(token);
    if (!(await this.leaseTokens.isKnown(hash))) throw unauthenticated(UNKNOWN);
    const principal = leasePrincipal(hash);
    this.leases.set(authorization, principal);
    return principal;
  }
}

function checkExpiry(principal: Principal): Principal {
  if (principal.expiresAt && principal.expiresAt.getTime() <= Date.now())
    throw unauthenticated('The credential has expired.');
  return principal;
}

export function unauthenticated(message: string): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers: { 'www-authenticate': 'Bearer realm="rollcall"' } });
}
