import { Column, Entity, PrimaryColumn } from 'typeorm';

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
