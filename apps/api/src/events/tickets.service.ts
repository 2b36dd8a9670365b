import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Authenticator, unauthenticated } from '../auth/authenticator.js';
import type { Principal } from '../auth/principal.js';
import { TicketStore } from './ticket.store.js';

const LIFE_MS = 30_000;

export interface Ticket {
  ticket: string;
  expiresAt: Date;
}

/** Tickets for those who can open a WebSocket but cannot send a header with it, as in a browser. */
@Injectable()
export class TicketsService {
  constructor(
    private readonly store: TicketStore,
    private readonly authenticator: Authenticator,
  ) {}

  async issue(principal: Principal): Promise<Ticket> {
    const ticket = randomBytes(32).toString('base64url');
    return { ticket, expiresAt: await this.store.insert(hashOf(ticket), principal, LIFE_MS) };
  }

  /** Good once, and only as long as the credential it was made with. */
  async redeem(ticket: string): Promise<Principal> {
    const kept = await this.store.take(hashOf(ticket));
    const principal = kept && { ...kept, expiresAt: kept.expiresAt && new Date(kept.expiresAt) };
    const valid = principal && (await this.authenticator.filterValid([principal])).has(principal);
    if (!valid) throw unauthenticated('The ticket was used, or is too old. POST /v1/events/tickets gives a new one.');
    return principal;
  }
}

function hashOf(ticket: string): Buffer {
  return createHash('sha256').update(ticket).digest();
}
