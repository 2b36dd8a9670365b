import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { NoticeKind } from './contract.notice.js';

/** A notice that is not delivered yet, for the endpoint of an agent. One replica at a time sends it. */
@Entity('contract_notice')
export class ContractNoticeEntity {
  @PrimaryColumn({ type: 'text', name: 'contract_id', primaryKeyConstraintName: 'contract_notice_pkey' })
  contractId: string;

  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'contract_notice_pkey' }) agentId: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'contract_notice_pkey' }) kind: NoticeKind;
  @Column({ type: 'integer', default: 0 }) attempts: number;
  /** When a replica may send the notice. A replica that sends the notice moves this time into the future. */
  @Index('contract_notice_due')
  @Column({ type: 'timestamptz', name: 'due_at', default: () => 'clock_timestamp()' })
  dueAt: Date;
}
