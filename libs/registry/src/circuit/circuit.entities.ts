import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { CircuitState } from './circuit.breaker.js';

/**
 * The circuit of an agent and the statistics of its calls. The first registration of an agentId creates the row, later registrations
 * keep it, and it is deleted with the record of the agent. Outcomes change it often: as with leases, the row is narrow and has no
 * secondary index, and pages are half filled, so a change is a HOT update that touches no index.
 */
@Entity('agent_circuit')
export class CircuitEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_circuit_pkey' }) agentId: string;
  @Column({ type: 'jsonb' }) state: CircuitState;
  /** The average latency that callers report. */
  @Column({ type: 'double precision', name: 'observed_ms', nullable: true }) observedMs: number | null;
  @Column({ type: 'timestamptz', name: 'last_task_at', nullable: true }) lastTaskAt: Date | null;
  /** How many outcomes callers have reported. */
  @Column({ type: 'bigint', default: 0 }) outcomes: string;
  /** Counts the changes of the row. Directories use it to recognise outdated reads; `agent.revision` does not count these changes. */
  @Column({ type: 'bigint', default: 0 }) version: string;
}

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
