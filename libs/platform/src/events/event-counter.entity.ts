import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A table with one row: the seq of the newest event. Pruning the log does not change it, so no seq is assigned twice. */
@Entity('event_counter')
export class EventCounterEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'event_counter_pkey' })
  id: number;

  @Column({ type: 'bigint' })
  head: string;

  /** Identifies this log and is part of every cursor. It changes when the database is restored from a backup. */
  @Column({ type: 'text' })
  epoch: string;

  /** The cluster, database and table that the epoch belongs to; null until a replica has set it. */
  @Column({ type: 'text', nullable: true })
  origin: string | null;
}
