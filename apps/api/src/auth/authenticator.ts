import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { hashOfToken, isLeaseToken } from '#rollcall/registry';
import { ApiError } from '../http/api.error.js';
import { KeysService } from '../keys/keys.service.js';
import { OidcVerifier } from './oidc.verifier.js';
import { LEASE_PERMISSIONS } from './permissions.js';
import type { Principal } from './principal.js';
import { RateLimiter } from './rate.limiter.js';

/** A revoked key works for this long at the most on the replicas that did not see the revocation. */
const REMEMBER_MS = 2_000;
const REMEMBERED = 50_000;
/** How many credentials we have not seen lately one address may make us look up in a second. */
const LOOKUPS_PER_ADDRESS = 1_000;

const HOW_TO = 'Send an API key or a token as: Authorization: Bearer <credential>';
const SCHEME = /^Bearer +(\S+)$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The part of a request that says who sent it. */
export interface Credentialed {
  headers: { authorization?: string };
  ip: string;
}

/** Tells who a credential belongs to. What it found it remembers for a moment, so that most requests cost no look-up. */
@Injectable()
export class Authenticator {
  private readonly remembered = new Map<string, { principal: Principal; freshUntil: number }>();
  /** Counts changes of keys: what was looked up before one is not remembered after it. */
  private epoch = 0;
  private readonly lookups = new RateLimiter(LOOKUPS_PER_ADDRESS);

  constructor(
    private readonly keys: KeysService,
    private readonly oidc: OidcVerifier,
  ) {
    keys.onChange(() => {
      this.epoch += 1;
      this.remembered.clear();
    });
  }

  /** Answers at once when the credential was seen lately. */
  authenticate(request: Credentialed): Principal | Promise<Principal> {
    const { authorization } = request.headers;
    if (!authorization) throw unauthenticated(HOW_TO);
    const known = this.remembered.get(authorization);
    if (known && known.freshUntil > performance.now()) return stillValid(known.principal);
    if (isLeaseToken(authorization.slice(7))) return this.leaseHolder(authorization);
    this.lookups.spend({ id: request.ip });
    return this.identify(authorization);
  }

  /** Which of these would still be let in, asked of the database and not of memory. A lease ends where leases end. */
  async stillValid(principals: readonly Principal[]): Promise<Set<Principal>> {
    const keys = principals.filter(({ kind }) => kind === 'key');
    const valid = keys.length > 0 ? await this.keys.validIds(keys.map(({ id }) => id)) : new Set<string>();
    const now = Date.now();
    const isValid = ({ kind, id, expiresAt }: Principal): boolean =>
      kind === 'lease' || (kind === 'key' ? valid.has(id) : expiresAt !== null && expiresAt.getTime() > now);
    return new Set(principals.filter(isValid));
  }

  private async identify(authorization: string): Promise<Principal> {
    const token = SCHEME.exec(authorization)?.[1];
    if (!token) throw unauthenticated(HOW_TO);
    const { epoch } = this;
    const hash = createHash('sha256').update(token).digest();
    const principal = JWT.test(token) ? await this.oidc.verify(token, hash) : await this.keys.findPrincipal(hash);
    if (!principal) throw unauthenticated('The credential is not known, or it is revoked or expired.');
    if (epoch === this.epoch) this.remember(authorization, principal, performance.now() + REMEMBER_MS);
    return stillValid(principal);
  }

  /** Remembered for as long as there is room: whose token it is does not change. */
  private leaseHolder(authorization: string): Principal {
    const principal = leaseHolder(authorization.slice(7));
    this.remember(authorization, principal, Infinity);
    return principal;
  }

  private remember(authorization: string, principal: Principal, freshUntil: number): void {
    if (this.remembered.size >= REMEMBERED) this.remembered.clear();
    this.remembered.set(authorization, { principal, freshUntil });
  }
}

/** Not looked up: it may do nothing but act for the agent it belongs to, and that is checked where it acts. */
function leaseHolder(token: string): Principal {
  const leaseHash = hashOfToken(token);
  const fingerprint = leaseHash.slice(0, 16);
  const id = `lease:${fingerprint}`;
  return {
    id,
    kind: 'lease',
    name: id,
    leaseHash,
    roles: [],
    permissions: LEASE_PERMISSIONS,
    fingerprint,
    expiresAt: null,
  };
}

function stillValid(principal: Principal): Principal {
  if (principal.expiresAt && principal.expiresAt.getTime() <= Date.now())
    throw unauthenticated('The credential has expired.');
  return principal;
}

export function unauthenticated(message: string): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers: { 'www-authenticate': 'Bearer realm="rollcall"' } });
}
