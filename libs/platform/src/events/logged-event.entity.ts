import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An event in its final place. Rows are added at the upper end by the sequencer and removed at the lower by the pruner. */
@Entity('event_log')
export class LoggedEventEntity {
  @PrimaryColumn({ type: 'bigint', primaryKeyConstraintName: 'event_log_pkey' })
  seq: string;

  @Column({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  type: string;

  @Column({ type: 'text' })
  subject: string;

  @Column({ type: 'text', array: true })
  capabilities: string[];

  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;

  @Column({ type: 'timestamptz' })
  at: Date;
}
