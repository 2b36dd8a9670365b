import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A place outside that events are relayed to, how far it is, and which replica is at it. */
@Entity('event_sink')
export class SinkEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'event_sink_pkey' })
  id: string;

  /** Which implementation delivers to it: `webhook`, `nats`. */
  @Column({ type: 'text' })
  kind: string;

  /** The seq of the last event that is done with: delivered, parked, or not wanted. */
  @Column({ type: 'bigint' })
  cursor: string;

  @Column({ type: 'boolean', default: false })
  paused: boolean;

  /** Why it stopped by itself: the events after its cursor are no longer kept. */
  @Column({ type: 'text', nullable: true, name: 'stopped_because' })
  stoppedBecause: string | null;

  /** How often the event after the cursor was tried in vain. */
  @Column({ type: 'int', default: 0 })
  attempts: number;

  /** Not tried again before. */
  @Column({ type: 'timestamptz', name: 'due_at', default: () => 'clock_timestamp()' })
  dueAt: Date;

  @Column({ type: 'text', nullable: true, name: 'last_error' })
  lastError: string | null;

  @Column({ type: 'timestamptz', nullable: true, name: 'delivered_at' })
  deliveredAt: Date | null;

  @Column({ type: 'uuid', nullable: true, name: 'lease_owner' })
  leaseOwner: string | null;

  /** New with every claim, and gone with every change from outside: whoever writes with an old one writes nothing. */
  @Column({ type: 'uuid', nullable: true, name: 'lease_token' })
  leaseToken: string | null;

  @Column({ type: 'timestamptz', nullable: true, name: 'lease_until' })
  leaseUntil: Date | null;
}
