import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: the seq of the newest event. It stays when the log is pruned, so that no seq is given twice. */
@Entity('event_counter')
export class EventCounterEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'event_counter_pkey' })
  id: number;

  @Column({ type: 'bigint' })
  head: string;

  /** Which log this is, in every cursor. Another one after a restore. */
  @Column({ type: 'text' })
  epoch: string;

  /** The cluster, database and table that the epoch belongs to; null until a replica has looked. */
  @Column({ type: 'text', nullable: true })
  origin: string | null;
}
