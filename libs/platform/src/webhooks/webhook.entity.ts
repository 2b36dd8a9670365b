import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** A URL that receives events. The sink with the same id stores the progress. */
@Entity('webhook')
@Index('webhook_namespace', ['namespace', 'seq'])
export class WebhookEntity {
  /** The order of creation, for pagination. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'webhook_pkey',
  })
  seq: string;

  @Column({ type: 'text' })
  @Index('webhook_id', { unique: true })
  id: string;

  /** The webhook receives the events of this namespace; `*` for all events. */
  @Column({ type: 'text', default: 'default' })
  namespace: string;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  @Column({ type: 'text' })
  url: string;

  @Column({ type: 'text', array: true, nullable: true })
  types: string[] | null;

  @Column({ type: 'text', array: true, nullable: true, name: 'agent_ids' })
  agentIds: string[] | null;

  @Column({ type: 'text', array: true, nullable: true })
  capabilities: string[] | null;

  /** Encrypted and not hashed, because it is needed to sign every delivery. */
  @Column({ type: 'bytea' })
  secret: Buffer;

  /** The previous secret. It also signs deliveries until `oldSecretUntil`. */
  @Column({ type: 'bytea', nullable: true, name: 'old_secret' })
  oldSecret: Buffer | null;

  @Column({ type: 'timestamptz', nullable: true, name: 'old_secret_until' })
  oldSecretUntil: Date | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt: Date;

  @Column({ type: 'text', name: 'created_by' })
  createdBy: string;
}
