import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { ContractState, ExpiryReason } from './auction.js';
import type { ContractLimits } from './bid.js';
import type { ContractOutcome, ContractReserve } from './contract.js';
import type { ScoringWeights } from './scoring.js';

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
