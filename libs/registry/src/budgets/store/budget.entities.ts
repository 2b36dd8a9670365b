import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { BudgetKind } from '../budget.js';
import type { BudgetWindow } from '../budget.window.js';
import type { ChargeMark, EntryKind } from '../ledger/ledger.operation.js';
import type { ReservationState } from '../ledger/reservation.js';

/**
 * A budget with its limits and counters. Pages are half filled and no index contains a column that a charge changes, so a charge
 * is a HOT update. All writers lock rows in the order of their ids.
 */
@Entity('budget')
@Index('budget_subject', ['kind', 'subject', 'window'], { unique: true })
@Index('budget_namespace', ['namespace', 'id'])
export class BudgetEntity {
  @PrimaryColumn({
    type: 'bigint',
    generated: 'identity',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'budget_pkey',
  })
  id: string;
  /** `*` for the budget of the fleet. */
  @Column({ type: 'text', default: 'default' }) namespace: string;
  @Column({ type: 'text' }) kind: BudgetKind;
  @Column({ type: 'text' }) subject: string;
  @Column({ type: 'text', name: 'window_kind' }) window: BudgetWindow;
  @Column({ type: 'text', name: 'time_zone' }) timeZone: string;
  /** The ids of the budgets of the ancestor runs, the root first. */
  @Column({ type: 'bigint', array: true }) path: string[];
  @Index('budget_root', { where: 'root_id IS NOT NULL' })
  @Column({ type: 'bigint', name: 'root_id', nullable: true })
  rootId: string | null;
  @Column({ type: 'bigint', name: 'limit_tokens', nullable: true }) limitTokens: string | null;
  @Column({ type: 'bigint', name: 'limit_micro_usd', nullable: true }) limitMicroUsd: string | null;
  @Column({ type: 'bigint', name: 'low_tokens', nullable: true }) lowTokens: string | null;
  @Column({ type: 'bigint', name: 'low_micro_usd', nullable: true }) lowMicroUsd: string | null;
  @Column({ type: 'bigint', name: 'used_tokens', default: 0 }) usedTokens: string;
  @Column({ type: 'bigint', name: 'used_micro_usd', default: 0 }) usedMicroUsd: string;
  @Column({ type: 'bigint', name: 'own_tokens', default: 0 }) ownTokens: string;
  @Column({ type: 'bigint', name: 'own_micro_usd', default: 0 }) ownMicroUsd: string;
  @Column({ type: 'bigint', name: 'reserved_tokens', default: 0 }) reservedTokens: string;
  @Column({ type: 'bigint', name: 'reserved_micro_usd', default: 0 }) reservedMicroUsd: string;
  /** The tokens that reports have charged. */
  @Column({ type: 'bigint', name: 'reported_tokens', default: 0 }) reportedTokens: string;
  @Column({ type: 'bigint', name: 'report_offset', default: 0 }) reportOffset: string;
  @Column({ type: 'timestamptz', name: 'window_start' }) windowStart: Date;
  @Index('budget_window_end', { where: 'window_end IS NOT NULL' })
  @Column({ type: 'timestamptz', name: 'window_end', nullable: true })
  windowEnd: Date | null;
  @Column({ type: 'text' }) source: string;
  @Column({ type: 'boolean', default: false }) declared: boolean;
  @Column({ type: 'timestamptz', name: 'refreshed_at', nullable: true }) refreshedAt: Date | null;
  @Column({ type: 'text', name: 'refresh_error', nullable: true }) refreshError: string | null;
  @Column({ type: 'bigint', default: 1 }) version: string;
  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' }) createdAt: Date;
  @Column({ type: 'text', name: 'created_by' }) createdBy: string;
  @Column({ type: 'timestamptz', name: 'changed_at', default: () => 'clock_timestamp()' }) changedAt: Date;
}

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

/** A ledger line. Each change of a budget's usage or limit adds one in the same transaction. Lines are never updated. */
@Entity('budget_entry')
export class LedgerEntryEntity {
  @PrimaryColumn({ type: 'bigint', name: 'budget_id', primaryKeyConstraintName: 'budget_entry_pkey' }) budgetId: string;
  @PrimaryColumn({
    type: 'bigint',
    generated: 'identity',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'budget_entry_pkey',
  })
  seq: string;
  @Column({ type: 'text' }) kind: EntryKind;
  @Column({ type: 'bigint' }) tokens: string;
  @Column({ type: 'bigint', name: 'micro_usd' }) microUsd: string;
  @Column({ type: 'boolean' }) own: boolean;
  @Column({ type: 'boolean', name: 'limit_changed' }) limitChanged: boolean;
  @Column({ type: 'bigint', name: 'limit_tokens', nullable: true }) limitTokens: string | null;
  @Column({ type: 'bigint', name: 'limit_micro_usd', nullable: true }) limitMicroUsd: string | null;
  @Column({ type: 'timestamptz', name: 'window_start' }) windowStart: Date;
  @Column({ type: 'text', nullable: true }) owner: string | null;
  @Column({ type: 'text', nullable: true }) key: string | null;
  @Column({ type: 'text', array: true }) marks: ChargeMark[];
  @Column({ type: 'text', nullable: true }) by: string | null;
  @Column({ type: 'text', nullable: true }) note: string | null;
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' }) at: Date;
}
