import { Column, Entity, PrimaryColumn } from 'typeorm';

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
