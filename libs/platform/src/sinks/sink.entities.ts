import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A sink with its progress and with the lease of the replica that delivers to it. */
@Entity('event_sink')
export class SinkEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'event_sink_pkey' })
  id: string;

  /** The implementation: `webhook`, `nats` or `push`. */
  @Column({ type: 'text' })
  kind: string;

  /** The seq of the last processed event. A processed event was delivered, was parked, or did not match the filter. */
  @Column({ type: 'bigint' })
  cursor: string;

  @Column({ type: 'boolean', default: false })
  paused: boolean;

  /** Why the sink stopped by itself: events after its cursor were deleted from the log. */
  @Column({ type: 'text', nullable: true, name: 'stopped_because' })
  stoppedBecause: string | null;

  /** The number of failed attempts for the next event. */
  @Column({ type: 'int', default: 0 })
  attempts: number;

  /** The time of the next attempt. */
  @Column({ type: 'timestamptz', name: 'due_at', default: () => 'clock_timestamp()' })
  dueAt: Date;

  @Column({ type: 'text', nullable: true, name: 'last_error' })
  lastError: string | null;

  @Column({ type: 'timestamptz', nullable: true, name: 'delivered_at' })
  deliveredAt: Date | null;

  @Column({ type: 'uuid', nullable: true, name: 'lease_owner' })
  leaseOwner: string | null;

  /** Changes with every claim and is removed when an operator changes the sink. A write with an old token has no effect. */
  @Column({ type: 'uuid', nullable: true, name: 'lease_token' })
  leaseToken: string | null;

  @Column({ type: 'timestamptz', nullable: true, name: 'lease_until' })
  leaseUntil: Date | null;
}

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
