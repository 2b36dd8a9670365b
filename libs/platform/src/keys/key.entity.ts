import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** The one role that has a rule here: an installation keeps at least one lasting key with it. */
export const ADMIN_ROLE = 'admin';

/** `issued` over REST, created by the `first-start`, or set by the `environment`. */
export type KeySource = 'issued' | 'first-start' | 'environment';

/** An API key. The secret itself is never stored, only its SHA-256: it has 256 random bits, so no slow hash is needed. */
@Entity('api_key')
export class KeyEntity {
  /** Order of creation, for pages. */
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

  @Column({ type: 'timestamptz', name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;
}
