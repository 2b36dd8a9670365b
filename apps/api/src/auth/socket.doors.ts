import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Lifecycle } from '../health/lifecycle.js';
import { ApiError } from '../http/api.error.js';
import { AuthGuard } from './auth.guard.js';
import { Authenticator } from './authenticator.js';
import type { Permission } from './permissions.js';
import type { Principal } from './principal.js';
import { SocketLimits } from './socket.limits.js';

export interface SocketDoor {
  permission: Permission;
  /** Who a one-time ticket was made for: browsers cannot send a header when they open a WebSocket. */
  redeem?(ticket: string): Promise<Principal>;
  /** What else must hold; it throws when it does not. */
  check?(request: URLSearchParams, principal: Principal): Promise<void>;
}

export interface AdmittedSocket {
  principal: Principal;
  /** To be called once, when the socket is closed or was not opened after all. */
  release(): void;
}

/** Decides before a WebSocket is one: without a door that says who may enter, no one may. */
@Injectable()
export class SocketDoors {
  private readonly doors = new Map<string, SocketDoor>();

  constructor(
    private readonly authenticator: Authenticator,
    private readonly guard: AuthGuard,
    private readonly lifecycle: Lifecycle,
    private readonly limits: SocketLimits,
  ) {}

  open(path: string, door: SocketDoor): void {
    this.doors.set(path, door);
  }

  /** Every socket there is, with the permission it needs. */
  all(): { path: string; access: Permission }[] {
    return [...this.doors].map(([path, { permission }]) => ({ path, access: permission }));
  }

  async admit(request: IncomingMessage): Promise<AdmittedSocket> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'ws://localhost');
    const door = this.doors.get(pathname);
    if (!door) throw new ApiError('FORBIDDEN', 'This socket does not say who may open it, so no one may.');
    if (this.lifecycle.phase === 'closing')
      throw new ApiError('SHUTTING_DOWN', 'Connect again; another replica is there.');
    const principal = await this.identify(request, door, searchParams.get('ticket'));
    this.guard.allow(principal, door.permission);
    const release = this.limits.enter(principal);
    try {
      await door.check?.(searchParams, principal);
    } catch (error) {
      release();
      throw error;
    }
    return { principal, release };
  }

  private async identify(request: IncomingMessage, { redeem }: SocketDoor, ticket: string | null): Promise<Principal> {
    const address = this.limits.addressOf(request);
    if (redeem && ticket !== null) return await this.limits.lookUp(address, async () => await redeem(ticket));
    return await this.authenticator.authenticate({ headers: request.headers, ip: address });
  }
}
