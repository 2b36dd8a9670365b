import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An event in the log. The sequencer adds rows at the end. The pruner deletes rows from the start, and the contents of expired events. */
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

  /** `*` if the event concerns no single namespace. */
  @Column({ type: 'text', default: 'default' })
  namespace: string;

  @Column({ type: 'text', array: true })
  capabilities: string[];

  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;

  @Column({ type: 'timestamptz' })
  at: Date;
}
