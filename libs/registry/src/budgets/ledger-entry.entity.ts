import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ChargeMark, EntryKind } from './ledger.entry.js';

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
