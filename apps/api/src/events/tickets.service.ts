import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Authenticator, unauthenticated } from '../auth/credentials/authenticator.js';
import { factsOf, type Principal } from '../auth/principal.js';
import { TicketStore } from './ticket.store.js';

const LIFE_MS = 30_000;

export interface Ticket {
  ticket: string;
  expiresAt: Date;
}

/** Tickets for clients that cannot send a header when they open a WebSocket, such as browsers. */
@Injectable()
export class TicketsService {
  constructor(
    private readonly store: TicketStore,
    private readonly authenticator: Authenticator,
  ) {}

  async issue(principal: Principal): Promise<Ticket> {
    const ticket = randomBytes(32).toString('base64url');
    return { ticket, expiresAt: await this.store.insert(hashOf(ticket), factsOf(principal), LIFE_MS) };
  }

  /**
   * A ticket works once, on any replica, and only while the credential that requested it is valid. The principal is a new one, so this
   * replica counts its sockets together with all others of the credential (S-12).
   */
  async redeem(ticket: string): Promise<Principal> {
    const stored = await this.store.consume(hashOf(ticket));
    const principal: Principal | undefined = stored && {
      ...factsOf(stored),
      expiresAt: stored.expiresAt && new Date(stored.expiresAt),
    };
    const valid = principal && (await this.authenticator.filterValid([principal])).has(principal);
    if (!valid)
      throw unauthenticated('The ticket was already used or has expired. Get a new one with POST /v1/events/tickets.');
    return principal;
  }
}

function hashOf(ticket: string): Buffer {
  return createHash('sha256').update(ticket).digest();
}
