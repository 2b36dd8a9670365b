import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { BudgetKind } from './budget.js';
import type { BudgetWindow } from './budget.window.js';

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
