import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { TranscriptKind } from './contract.js';

/** One entry of the transcript of a contract. */
@Entity('contract_entry')
export class ContractEntryEntity {
  @PrimaryColumn({ type: 'text', name: 'contract_id', primaryKeyConstraintName: 'contract_entry_pkey' })
  contractId: string;

  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'contract_entry_pkey' }) number: number;
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' }) at: Date;
  @Column({ type: 'text' }) kind: TranscriptKind;
  @Column({ type: 'json' }) data: unknown;
}
