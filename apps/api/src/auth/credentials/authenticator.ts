import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { KeysService, SESSION_PREFIX, SessionsService } from '#rollcall/platform';
import { hashOfToken, isLeaseToken } from '#rollcall/registry';
import { ApiError } from '../../http/problems/api.error.js';
import { CallerLimits } from '../../limits/caller.limits.js';
import type { Principal } from '../principal.js';
import { type Identity, keyIdentity, keyIdOf, keyPrincipalId, leaseIdentity, sessionIdentity } from './identity.js';
import { LeaseTokenVerifier } from './lease-token.verifier.js';
import { NAMESPACE_HEADER, NamespaceResolver } from './namespace.resolver.js';
import { OidcVerifier } from './oidc.verifier.js';

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
  headers: { authorization?: string; [NAMESPACE_HEADER]?: string | string[] };
  ip: string;
}

interface CachedIdentity {
  identity: Identity;
  freshUntil: number;
  epoch: number;
}

/**
 * Finds the identity of a credential, and its principal in the namespace of the request. Identities are cached for a short time, so
 * that most requests need no look-up.
 */
@Injectable()
export class Authenticator {
  private readonly cache = new LRUCache<string, CachedIdentity>({ max: MAX_CACHED_KEYS });
  /** Verified lease tokens. They do not expire here: each statement checks that the token belongs to its agent. */
  private readonly leases = new LRUCache<string, Identity>({ max: MAX_CACHED_LEASES });
  private readonly pending = new Map<string, Promise<Identity>>();
  /** Incremented when a key changes or a session ends. Cache entries of earlier epochs are not used. */
  private epoch = 0;

  constructor(
    private readonly keys: KeysService,
    private readonly sessions: SessionsService,
    private readonly oidc: OidcVerifier,
    private readonly leaseTokens: LeaseTokenVerifier,
    private readonly limits: CallerLimits,
    private readonly namespaces: NamespaceResolver,
  ) {
    keys.onChange(() => (this.epoch += 1));
    sessions.onEnd(() => (this.epoch += 1));
  }

  /** Returns the principal without a promise when the credential is cached and this replica knows the namespace. */
  authenticate(request: RequestCredentials): Principal | Promise<Principal> {
    const wanted = request.headers[NAMESPACE_HEADER]?.toString();
    const identity = this.identify(request);
    if (!(identity instanceof Promise)) return this.namespaces.resolve(identity, wanted);
    return identity.then((found) => this.namespaces.resolve(found, wanted));
  }

  /** Caches a token that this replica has just issued, so that its first use needs no look-up. */
  cacheLease(token: string, namespace: string): void {
    this.leases.set(`Bearer ${token}`, leaseIdentity(hashOfToken(token), namespace));
  }

  /** Returns the principals whose credential is valid now. Reads the database, not the cache. Leases always count as valid. */
  async filterValid(principals: readonly Principal[]): Promise<Set<Principal>> {
    const keys = principals.filter(({ kind, sessionHash }) => kind === 'key' && sessionHash === undefined);
    const hashes = principals.flatMap(({ sessionHash }) => sessionHash ?? []);
    const [keyIds, sessions] = await Promise.all([
      keys.length > 0 ? this.keys.findValidIds(keys.map(({ id }) => keyIdOf(id))) : [],
      hashes.length > 0 ? this.sessions.findValidHashes(hashes) : [],
    ]);
    const valid = new Set([...keyIds.map(keyPrincipalId), ...sessions]);
    const now = Date.now();
    const isValid = ({ kind, id, sessionHash, expiresAt }: Principal): boolean =>
      kind === 'lease' ||
      (kind === 'key' ? valid.has(sessionHash ?? id) : expiresAt !== null && expiresAt.getTime() > now);
    return new Set(principals.filter(isValid));
  }

  private identify(request: RequestCredentials): Identity | Promise<Identity> {
    const { authorization } = request.headers;
    if (!authorization) throw unauthenticated(HOW_TO);
    const lease = this.leases.get(authorization);
    if (lease) return lease;
    const cached = this.cache.get(authorization);
    if (cached && cached.epoch === this.epoch && cached.freshUntil > performance.now())
      return checkExpiry(cached.identity);
    return this.pending.get(authorization) ?? this.lookUp(request, authorization, cached !== undefined);
  }

  /** Concurrent requests with the same credential share one look-up. The limits apply only to credentials that were not valid before. */
  private lookUp({ ip }: RequestCredentials, authorization: string, wasValid: boolean): Promise<Identity> {
    const token = SCHEME.exec(authorization)?.[1];
    if (!token) throw unauthenticated(HOW_TO);
    const find = async (): Promise<Identity> => await this.find(authorization, token, wasValid);
    const lookUp = wasValid ? find() : this.limits.lookUp(ip, find);
    const identity = lookUp.finally(() => this.pending.delete(authorization));
    this.pending.set(authorization, identity);
    return identity;
  }

  private async find(authorization: string, token: string, wasValid: boolean): Promise<Identity> {
    if (isLeaseToken(token)) return await this.verifyLease(authorization, token);
    const { epoch } = this;
    const hash = createHash('sha256').update(token).digest();
    const identity = await this.identityOf(token, hash, wasValid);
    if (!identity) {
      this.cache.delete(authorization);
      throw unauthenticated(UNKNOWN);
    }
    this.cache.set(authorization, { identity, freshUntil: performance.now() + CACHE_MS, epoch });
    return checkExpiry(identity);
  }

  private async identityOf(token: string, hash: Buffer, wasValid: boolean): Promise<Identity | undefined> {
    if (token.startsWith(SESSION_PREFIX)) {
      const session = await this.sessions.findValid(hash);
      return session && sessionIdentity(hash.toString('hex'), session);
    }
    return JWT.test(token) ? await this.oidc.verify(token, hash) : await this.ownerOf(hash, wasValid);
  }

  /**
   * A key that was valid before is looked up on a reserved connection, so that its requests do not wait while writes use all
   * ordinary connections. An unknown key is looked up on an ordinary connection, because attackers who guess keys must not use the
   * connections that heartbeats need.
   */
  private async ownerOf(hash: Buffer, wasValid: boolean): Promise<Identity | undefined> {
    const key = await this.keys.findValid(hash, wasValid ? 'reserved' : 'ordinary');
    return key && keyIdentity(key);
  }

  /** The response to an unknown token is always the same. It does not reveal whether an agent exists. */
  private async verifyLease(authorization: string, token: string): Promise<Identity> {
    const hash = hashOfToken(token);
    const namespace = await this.leaseTokens.namespaceOf(hash);
    if (namespace === undefined) throw unauthenticated(UNKNOWN);
    const identity = leaseIdentity(hash, namespace);
    this.leases.set(authorization, identity);
    return identity;
  }
}

function checkExpiry(identity: Identity): Identity {
  if (identity.expiresAt && identity.expiresAt.getTime() <= Date.now())
    throw unauthenticated('The credential has expired.');
  return identity;
}

export function unauthenticated(message: string): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers: { 'www-authenticate': 'Bearer realm="rollcall"' } });
}
