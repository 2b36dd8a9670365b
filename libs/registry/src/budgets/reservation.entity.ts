import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ReservationState } from './reservation.js';

/** An amount held for a call on all its budgets. The row is kept for a while after the reservation ends, to answer repeated requests. */
@Entity('budget_reservation')
export class ReservationEntity {
  /** The index is used to count the held reservations of an owner, for its quota. */
  @Index('budget_reservation_held', { where: "state = 'held'" })
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'budget_reservation_pkey' })
  owner: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'budget_reservation_pkey' }) key: string;
  @Column({ type: 'text', name: 'agent_id', nullable: true }) agentId: string | null;
  @Column({ type: 'text', name: 'caller_id', nullable: true }) callerId: string | null;
  @Column({ type: 'text', name: 'run_id', nullable: true }) runId: string | null;
  @Column({ type: 'bigint', array: true, name: 'budget_ids' }) budgetIds: string[];
  @Column({ type: 'bigint', name: 'held_tokens' }) heldTokens: string;
  @Column({ type: 'bigint', name: 'held_micro_usd' }) heldMicroUsd: string;
  /** The part of the reserved amount that was added for later calls. */
  @Column({ type: 'bigint', name: 'ahead_tokens', default: 0 }) aheadTokens: string;
  @Column({ type: 'bigint', name: 'ahead_micro_usd', default: 0 }) aheadMicroUsd: string;
  /** The tokens that reports had charged when the reservation was opened. */
  @Column({ type: 'bigint', name: 'reported_before', default: 0 }) reportedBefore: string;
  @Column({ type: 'text' }) state: ReservationState;
  @Column({ type: 'bigint', name: 'used_tokens', nullable: true }) usedTokens: string | null;
  @Column({ type: 'bigint', name: 'used_micro_usd', nullable: true }) usedMicroUsd: string | null;
  @Column({ type: 'boolean', default: false }) overdraft: boolean;
  @Column({ type: 'boolean', default: false }) estimated: boolean;
  @Column({ type: 'timestamptz', name: 'opened_at', default: () => 'clock_timestamp()' }) openedAt: Date;
  @Index('budget_reservation_expiry', { where: "state = 'held'" })
  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;
  @Column({ type: 'timestamptz', name: 'closed_at', nullable: true }) closedAt: Date | null;
}
