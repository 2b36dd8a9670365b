import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * `retrying`: later events wait for this event. `parked`: all permitted attempts have failed. `pending`: an operator
 * requested one more attempt.
 */
export type DeliveryState = 'delivered' | 'retrying' | 'parked' | 'pending';

/** The delivery of one event to one sink. */
@Entity('event_delivery')
@Index('event_delivery_last_at', ['lastAt'])
@Index('event_delivery_open', ['sinkId', 'seq'], { where: "(state <> 'delivered'::text)" })
export class DeliveryEntity {
  @PrimaryColumn({ type: 'text', name: 'sink_id', primaryKeyConstraintName: 'event_delivery_pkey' })
  sinkId: string;

  @PrimaryColumn({ type: 'bigint', primaryKeyConstraintName: 'event_delivery_pkey' })
  seq: string;

  @Column({ type: 'text' })
  state: DeliveryState;

  @Column({ type: 'int' })
  attempts: number;

  /** A copy of the event, so that it can be sent again after the log has been pruned. Null after the delivery. */
  @Column({ type: 'jsonb', nullable: true })
  event: Record<string, unknown> | null;

  @Column({ type: 'uuid', name: 'event_id' })
  eventId: string;

  @Column({ type: 'text' })
  type: string;

  @Column({ type: 'text' })
  subject: string;

  /** The HTTP status of the last response; null if there was no response. */
  @Column({ type: 'int', nullable: true })
  status: number | null;

  @Column({ type: 'text', nullable: true })
  error: string | null;

  /** The duration of the last attempt. */
  @Column({ type: 'int', name: 'took_ms' })
  tookMs: number;

  @Column({ type: 'timestamptz', name: 'first_at', default: () => 'clock_timestamp()' })
  firstAt: Date;

  @Column({ type: 'timestamptz', name: 'last_at', default: () => 'clock_timestamp()' })
  lastAt: Date;
}
