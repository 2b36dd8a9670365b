import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** An event in the outbox: committed together with its change, but not yet in the log. */
@Entity('event_staging')
export class StagedEventEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'event_staging_pkey',
  })
  id: string;

  @Column({ type: 'text' })
  type: string;

  @Column({ type: 'text' })
  subject: string;

  @Column({ type: 'text', default: 'default' })
  namespace: string;

  @Column({ type: 'text', array: true })
  capabilities: string[];

  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;

  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  at: Date;
}
