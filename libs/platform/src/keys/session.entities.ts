import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A session of a person, who has signed in with an API key. Only the SHA-256 of its token is stored. It ends with its key. */
@Entity('session')
@Index('session_key', ['keyId', 'createdAt'])
export class SessionEntity {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'session_pkey' }) hash: Buffer;
  @Column({ type: 'text', name: 'key_id' }) keyId: string;
  /** They permit at most what the roles of the key permit. */
  @Column({ type: 'text', array: true }) roles: string[];
  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' }) createdAt: Date;
  @Index('session_expires_at')
  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
}

/** A one-time right to open a session. */
@Entity('session_ticket')
export class SessionTicketEntity {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'session_ticket_pkey' }) hash: Buffer;
  @Column({ type: 'text', name: 'key_id' }) keyId: string;
  @Column({ type: 'text', array: true }) roles: string[];
  @Index('session_ticket_expires_at')
  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
}
