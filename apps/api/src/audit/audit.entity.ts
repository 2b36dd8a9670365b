import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** One action of an administrator or operator. The table is append-only: a trigger rejects changes and deletions. */
@Entity('audit_entry')
@Index('audit_entry_namespace', ['namespace', 'seq'])
export class AuditEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'audit_entry_pkey',
  })
  seq: string;

  /** The namespace that the action concerns; `*` if it concerns all. It may differ from the namespace of the request. */
  @Column({ type: 'text', default: 'default' })
  namespace: string;

  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  at: Date;

  @Column({ type: 'text' })
  @Index('audit_entry_action')
  action: string;

  @Column({ type: 'text', nullable: true })
  @Index('audit_entry_target')
  target: string | null;

  @Column({ type: 'text', name: 'actor_id' })
  @Index('audit_entry_actor')
  actorId: string;

  @Column({ type: 'text', name: 'actor_name' })
  actorName: string;

  @Column({ type: 'text' })
  fingerprint: string;

  @Column({ type: 'text', name: 'request_id' })
  requestId: string;

  @Column({ type: 'text' })
  ip: string;

  @Column({ type: 'jsonb' })
  details: Record<string, unknown>;
}
