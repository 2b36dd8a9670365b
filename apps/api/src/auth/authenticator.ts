import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { KeysService } from '#rollcall/platform';
import { hashOfToken, isLeaseToken } from '#rollcall/registry';
import { ApiError } from '../http/api.error.js';
import { keyIdOf, keyPrincipal, keyPrincipalId } from './key.principal.js';
import { leasePrincipal } from './lease.principal.js';
import { LeaseProofs } from './lease.proofs.js';
import { OidcVerifier } from './oidc.verifier.js';
import type { Principal } from './principal.js';
import { UnprovenRequests } from './unproven.requests.js';

/** A revoked key works for this long at the most on the replicas that did not see the revocation. */
const REMEMBER_MS = 2_000;
const KEYS_REMEMBERED = 50_000;
const LEASES_REMEMBERED = 100_000;

const HOW_TO = 'Send an API key or a token as: Authorization: Bearer <credential>';
const UNKNOWN = 'The credential is not known, or it is revoked or expired.';
const SCHEME = /^Bearer +(\S+)$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The part of a request that says who sent it. */
export interface Credentialed {
  headers: { authorization?: string };
  ip: string;
}

interface Remembered {
  principal: Principal;
  freshUntil: number;
  epoch: number;
}

/** Tells who a credential belongs to. What it found it remembers for a moment, so that most requests cost no look-up. */
@Injectable()
export class Authenticator {
  private readonly remembered = new LRUCache<string, Remembered>({ max: KEYS_REMEMBERED });
  /** Proven lease tokens. What a token proves does not change: whose it is, is checked where it acts. */
  private readonly leases = new LRUCache<string, Principal>({ max: LEASES_REMEMBERED });
  private readonly pending = new Map<string, Promise<Principal>>();
  /** Counts changes of keys: what was looked up before one is not trusted after it. */
  private epoch = 0;

  constructor(
    private readonly keys: KeysService,
    private readonly oidc: OidcVerifier,
    private readonly proofs: LeaseProofs,
    private readonly unproven: UnprovenRequests,
  ) {
    keys.onChange(() => (this.epoch += 1));
  }

  /** Answers at once when the credential was seen lately. */
  authenticate(request: Credentialed): Principal | Promise<Principal> {
    const { authorization } = request.headers;
    if (!authorization) throw unauthenticated(HOW_TO);
    const lease = this.leases.get(authorization);
    if (lease) return lease;
    const known = this.remembered.get(authorization);
    if (known && known.epoch === this.epoch && known.freshUntil > performance.now()) return stillValid(known.principal);
    return this.pending.get(authorization) ?? this.lookUp(request, authorization, known !== undefined);
  }

  /** For a token that this replica has just issued, so that its first use costs no look-up. */
  rememberLease(token: string): void {
    this.leases.set(`Bearer ${token}`, leasePrincipal(hashOfToken(token)));
  }

  /** Which of these would still be let in, asked of the database and not of memory. A lease ends where leases end. */
  async stillValid(principals: readonly Principal[]): Promise<Set<Principal>> {
    const keys = principals.filter(({ kind }) => kind === 'key');
    const found = keys.length > 0 ? await this.keys.findValidIds(keys.map(({ id }) => keyIdOf(id))) : [];
    const valid = new Set(found.map(keyPrincipalId));
    const now = Date.now();
    const isValid = ({ kind, id, expiresAt }: Principal): boolean =>
      kind === 'lease' || (kind === 'key' ? valid.has(id) : expiresAt !== null && expiresAt.getTime() > now);
    return new Set(principals.filter(isValid));
  }

  /** One look-up for all requests that present the same credential meanwhile. One that was valid lately is not limited. */
  private lookUp({ ip }: Credentialed, authorization: string, isKnown: boolean): Promise<Principal> {
    const token = SCHEME.exec(authorization)?.[1];
    if (!token) throw unauthenticated(HOW_TO);
    const find = async (): Promise<Principal> => await this.identify(authorization, token);
    const found = (isKnown ? find() : this.unproven.lookUp(ip, find)).finally(() => this.pending.delete(authorization));
    this.pending.set(authorization, found);
    return found;
  }

  private async identify(authorization: string, token: string): Promise<Principal> {
    if (isLeaseToken(token)) return await this.proveLease(authorization, token);
    const { epoch } = this;
    const hash = createHash('sha256').update(token).digest();
    const principal = JWT.test(token) ? await this.oidc.verify(token, hash) : await this.ownerOf(hash);
    if (!principal) {
      this.remembered.delete(authorization);
      throw unauthenticated(UNKNOWN);
    }
    this.remembered.set(authorization, { principal, freshUntil: performance.now() + REMEMBER_MS, epoch });
    return stillValid(principal);
  }

  private async ownerOf(hash: Buffer): Promise<Principal | undefined> {
    const key = await this.keys.findValid(hash);
    return key && keyPrincipal(key);
  }

  /** An unknown token gets one answer, whatever became of the agent it is used for. */
  private async proveLease(authorization: string, token: string): Promise<Principal> {
    const hash = hashOfToken(token);
    if (!(await this.proofs.isKnown(hash))) throw unauthenticated(UNKNOWN);
    const principal = leasePrincipal(hash);
    this.leases.set(authorization, principal);
    return principal;
  }
}

function stillValid(principal: Principal): Principal {
  if (principal.expiresAt && principal.expiresAt.getTime() <= Date.now())
    throw unauthenticated('The credential has expired.');
  return principal;
}

export function unauthenticated(message: string): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers: { 'www-authenticate': 'Bearer realm="rollcall"' } });
}
