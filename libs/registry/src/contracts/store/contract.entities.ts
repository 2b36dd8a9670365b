import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { ContractState, ExpiryReason } from '../auction/auction.js';
import type { ContractLimits } from '../auction/bid.js';
import type { ScoringWeights } from '../auction/scoring.js';
import type { AwardResult } from '../auction/track-record.js';
import type { Answer, ContractOutcome, ContractReserve } from '../contract.js';
import type { NoticeKind } from '../invitations/contract.inviters.js';
import type { TranscriptKind } from './transcript.store.js';

/** A contract with the state of its auction. Every change locks this row first. */
@Entity('contract')
@Index('contract_namespace', ['namespace', 'seq'])
@Index('contract_open_by', ['by'], { where: 'ended_at IS NULL' })
export class ContractEntity {
  /** The order of announcement. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'contract_pkey',
  })
  seq: string;

  @Index('contract_id', { unique: true })
  @Column({ type: 'text' })
  id: string;

  @Column({ type: 'text' }) namespace: string;
  @Column({ type: 'text' }) state: ContractState;
  @Column({ type: 'text', array: true }) capabilities: string[];
  @Column({ type: 'text' }) task: string;
  @Column({ type: 'json' }) limits: ContractLimits;
  @Column({ type: 'json' }) reserve: ContractReserve;
  @Column({ type: 'text' }) scoring: string;
  @Column({ type: 'json' }) weights: ScoringWeights;
  @Column({ type: 'boolean' }) run: boolean;
  @Column({ type: 'text', name: 'announced_by' }) by: string;
  @Column({ type: 'text' }) payer: string;
  @Column({ type: 'timestamptz', name: 'announced_at' }) announcedAt: Date;
  @Column({ type: 'timestamptz' }) deadline: Date;
  @Column({ type: 'integer', name: 'confirm_within_ms' }) confirmWithinMs: number;
  @Column({ type: 'integer' }) invited: number;
  @Column({ type: 'integer', name: 'not_invited', default: 0 }) notInvited: number;
  @Column({ type: 'integer', default: 0 }) answered: number;
  @Column({ type: 'text', nullable: true }) winner: string | null;
  @Column({ type: 'integer', default: 0 }) awards: number;
  @Column({ type: 'timestamptz', name: 'awarded_at', nullable: true }) awardedAt: Date | null;
  @Column({ type: 'timestamptz', name: 'confirm_by', nullable: true }) confirmBy: Date | null;
  /** When the next step is due: the close of the auction, or the lapse of the award. */
  @Index('contract_due', { where: 'due_at IS NOT NULL' })
  @Column({ type: 'timestamptz', name: 'due_at', nullable: true })
  dueAt: Date | null;

  @Index('contract_ended_at')
  @Column({ type: 'timestamptz', name: 'ended_at', nullable: true })
  endedAt: Date | null;

  @Column({ type: 'text', name: 'expiry_reason', nullable: true }) expiryReason: ExpiryReason | null;
  @Index('contract_run', { where: 'run_id IS NOT NULL' })
  @Column({ type: 'text', name: 'run_id', nullable: true })
  runId: string | null;

  @Column({ type: 'json', nullable: true }) outcome: ContractOutcome | null;
}

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
