import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

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

/** The events of one namespace. The sequencer and the pruner keep the numbers up to date in their transactions. */
@Entity('event_namespace')
export class EventNamespaceEntity {
  /** `*` for the events that concern no single namespace. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'event_namespace_pkey' })
  namespace: string;

  /** How many events of the namespace are in the log, not counting expired events. */
  @Column({ type: 'bigint', default: 0 })
  kept: string;

  /** The seq of the newest event that expired because of the limit of the namespace; 0 if no event expired. */
  @Column({ type: 'bigint', name: 'expired_to', default: 0 })
  expiredTo: string;
}
