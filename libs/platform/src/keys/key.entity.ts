import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { KeySource } from './key.js';

/** An API key. Only the SHA-256 of the secret is stored. The secret has 256 random bits, so a slow hash is not necessary. */
@Entity('api_key')
@Index('api_key_namespace', ['namespace', 'seq'])
export class KeyEntity {
  /** The order of creation, for pagination. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'api_key_pkey',
  })
  seq: string;

  @Column({ type: 'text' })
  @Index('api_key_id', { unique: true })
  id: string;

  @Column({ type: 'bytea' })
  @Index('api_key_hash', { unique: true })
  hash: Buffer;

  @Column({ type: 'text' })
  name: string;

  /** The namespace that the key gives access to; `*` for all. */
  @Column({ type: 'text', default: 'default' })
  namespace: string;

  @Column({ type: 'text', array: true })
  roles: string[];

  @Column({ type: 'text' })
  source: KeySource;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt: Date;

  @Column({ type: 'text', name: 'created_by' })
  createdBy: string;

  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'timestamptz', name: 'revoked_at', nullable: true })
  revokedAt: Date | null;

  @Column({ type: 'text', name: 'replaced_by', nullable: true })
  replacedBy: string | null;

  /**
   * The first key of a chain of rotations; null if this key did not replace another one. The first key owns what the keys of
   * the chain create.
   */
  @Column({ type: 'text', name: 'origin_id', nullable: true })
  originId: string | null;

  @Column({ type: 'timestamptz', name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;
}
