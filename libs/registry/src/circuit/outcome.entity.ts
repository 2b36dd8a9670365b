import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * The latest outcomes of each agent. The rows of an agent are a ring: outcome n is in the slot n modulo `KEPT_OUTCOMES` and
 * replaces the outcome that was there, so the table needs no pruning while the agent exists.
 */
@Entity('agent_outcome')
export class OutcomeEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_outcome_pkey' }) agentId: string;
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'agent_outcome_pkey' }) slot: number;
  @Column({ type: 'bigint' }) number: string;
  @Column({ type: 'bigint' }) generation: string;
  /** The index finds the agents whose latency changed, for the directories of the other replicas. */
  @Index('agent_outcome_at')
  @Column({ type: 'timestamptz' })
  at: Date;
  @Column({ type: 'boolean' }) ok: boolean;
  @Column({ type: 'double precision', name: 'latency_ms', nullable: true }) latencyMs: number | null;
  @Column({ type: 'text', name: 'reporter_id' }) reporterId: string;
  @Column({ type: 'text', name: 'reporter_name' }) reporterName: string;
}
