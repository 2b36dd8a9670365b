import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * The stored response to a request. It is encrypted with the Idempotency-Key, of which only a hash is stored, and with a secret
 * that is not in the database.
 */
@Entity('idempotency_key')
export class IdempotencyEntity {
  @PrimaryColumn({ type: 'text', name: 'caller_id', primaryKeyConstraintName: 'idempotency_key_pkey' })
  callerId: string;

  @PrimaryColumn({ type: 'bytea', name: 'key_hash', primaryKeyConstraintName: 'idempotency_key_pkey' })
  keyHash: Buffer;

  @Column({ type: 'bytea' })
  fingerprint: Buffer;

  @Column({ type: 'bytea', nullable: true })
  answer: Buffer | null;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  @Index('idempotency_key_expires_at')
  expiresAt: Date;
}
