import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { PrincipalFacts } from '../auth/principal.js';

/** A one-time right to open a WebSocket. The secret is never stored, only its SHA-256. */
@Entity('event_ticket')
export class TicketEntity {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'event_ticket_pkey' })
  hash: Buffer;

  /** The principal that the ticket was issued to, as it was at that time. */
  @Column({ type: 'jsonb' })
  principal: PrincipalFacts;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  @Index('event_ticket_expires_at')
  expiresAt: Date;
}
