import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: the seq of the newest event. It stays when the log is pruned, so that no seq is given twice. */
@Entity('event_counter')
export class EventCounterEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'event_counter_pkey' })
  id: number;

  @Column({ type: 'bigint' })
  head: string;
}
