import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Lifecycle } from '../../health/lifecycle.js';
import { ApiError } from '../../http/problems/api.error.js';
import { TrustedProxies } from '../../http/server/trusted-proxies.js';
import { CallerLimits } from '../../limits/caller.limits.js';
import { AuthGuard } from '../auth.guard.js';
import { Authenticator } from '../credentials/authenticator.js';
import type { Permission } from '../permissions.js';
import type { Principal } from '../principal.js';
import { checkScope, type NamespaceScope } from '../route.access.js';

export interface SocketRules {
  permission: Permission;
  /** Absent: `one`. */
  scope?: NamespaceScope;
  /** Returns the principal of a one-time ticket. Browsers cannot send a header when they open a WebSocket. */
  redeem?(ticket: string): Promise<Principal>;
  /** Throws when another condition is not met. */
  check?(request: URLSearchParams, principal: Principal): Promise<void>;
}

export interface AdmittedSocket {
  principal: Principal;
  /** Must be called once: when the socket is closed, or when it is not opened. */
  release(): void;
}

/** Authenticates and authorizes upgrade requests. A path without declared rules is always rejected. */
@Injectable()
export class SocketAccess {
  private readonly rules = new Map<string, SocketRules>();

  constructor(
    private readonly authenticator: Authenticator,
    private readonly guard: AuthGuard,
    private readonly lifecycle: Lifecycle,
    private readonly limits: CallerLimits,
    private readonly proxies: TrustedProxies,
  ) {}

  declare(path: string, rules: SocketRules): void {
    this.rules.set(path, rules);
  }

  /** Every WebSocket path with the permission it requires. */
  all(): { path: string; access: Permission }[] {
    return [...this.rules].map(([path, { permission }]) => ({ path, access: permission }));
  }

  async admit(request: IncomingMessage): Promise<AdmittedSocket> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'ws://localhost');
    const rules = this.rules.get(pathname);
    if (!rules) throw new ApiError('FORBIDDEN', 'This WebSocket declares no permission, so nobody may open it.');
    if (this.lifecycle.phase === 'closing')
      throw new ApiError('SHUTTING_DOWN', 'Connect again to reach another replica.');
    const principal = await this.identify(request, rules, searchParams.get('ticket'));
    this.guard.allow(principal, rules.permission);
    checkScope(rules.scope ?? 'one', principal);
    const release = this.limits.openSocket(principal);
    try {
      await rules.check?.(searchParams, principal);
    } catch (error) {
      release();
      throw error;
    }
    return { principal, release };
  }

  private async identify(request: IncomingMessage, { redeem }: SocketRules, ticket: string | null): Promise<Principal> {
    const address = this.proxies.addressOf(request);
    if (redeem && ticket !== null) return await this.limits.lookUp(address, async () => await redeem(ticket));
    return await this.authenticator.authenticate({ headers: request.headers, ip: address });
  }
}
