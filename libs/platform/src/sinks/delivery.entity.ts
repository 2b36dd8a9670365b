import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** `retrying` blocks what comes after it, `parked` was given up, `pending` is to be tried once more. */
export type DeliveryState = 'delivered' | 'retrying' | 'parked' | 'pending';

/** What became of one event at one sink. */
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

  /** As it is in the log, so that it can be sent again when it is no longer kept there. Null once it has arrived. */
  @Column({ type: 'jsonb', nullable: true })
  event: Record<string, unknown> | null;

  @Column({ type: 'uuid', name: 'event_id' })
  eventId: string;

  @Column({ type: 'text' })
  type: string;

  @Column({ type: 'text' })
  subject: string;

  /** What the other side answered, if it did. */
  @Column({ type: 'int', nullable: true })
  status: number | null;

  @Column({ type: 'text', nullable: true })
  error: string | null;

  /** How long the last try took. */
  @Column({ type: 'int', name: 'took_ms' })
  tookMs: number;

  @Column({ type: 'timestamptz', name: 'first_at', default: () => 'clock_timestamp()' })
  firstAt: Date;

  @Column({ type: 'timestamptz', name: 'last_at', default: () => 'clock_timestamp()' })
  lastAt: Date;
}
