import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Answer } from './contract.js';
import type { AwardResult } from './track-record.js';

/** One invited agent of a contract, its last accepted answer, and how its award ended. */
@Entity('contract_bid')
@Index('contract_bid_result', ['agentId', 'resultAt'], { where: 'result IS NOT NULL' })
export class ContractBidEntity {
  @PrimaryColumn({ type: 'text', name: 'contract_id', primaryKeyConstraintName: 'contract_bid_pkey' })
  contractId: string;

  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'contract_bid_pkey' }) agentId: string;
  @Column({ type: 'bigint' }) generation: string;
  @Column({ type: 'text', nullable: true }) answer: Answer | null;
  @Column({ type: 'bigint', nullable: true }) price: string | null;
  @Column({ type: 'bigint', name: 'eta_ms', nullable: true }) etaMs: string | null;
  @Column({ type: 'double precision', nullable: true }) confidence: number | null;
  @Column({ type: 'text', nullable: true }) note: string | null;
  @Column({ type: 'integer', default: 0 }) revision: number;
  @Column({ type: 'timestamptz', name: 'answered_at', nullable: true }) answeredAt: Date | null;
  @Column({ type: 'integer', name: 'late_answers', default: 0 }) lateAnswers: number;
  @Column({ type: 'integer', nullable: true }) rank: number | null;
  @Column({ type: 'double precision', nullable: true }) score: number | null;
  @Column({ type: 'text', nullable: true }) result: AwardResult | null;
  @Column({ type: 'timestamptz', name: 'result_at', nullable: true }) resultAt: Date | null;
  @Column({ type: 'bigint', name: 'actual_micro_usd', nullable: true }) actualMicroUsd: string | null;
  @Column({ type: 'bigint', name: 'actual_ms', nullable: true }) actualMs: string | null;
}
