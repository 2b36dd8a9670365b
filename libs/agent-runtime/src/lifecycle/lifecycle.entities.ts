import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { AgentState, AgentType } from '#rollcall/providers';
import type { SpendingLimit } from '../spending/spending.js';

/** An agent that a replica hosts. It is live while the registry has a live registration with this generation. */
@Entity('runtime_agent')
@Index('runtime_agent_namespace', ['namespace', 'name'])
export class RuntimeAgentEntity {
  @PrimaryColumn({ name: 'agent_id', type: 'text', primaryKeyConstraintName: 'runtime_agent_pkey' }) agentId: string;
  @Column({ type: 'bigint' }) generation: string;
  @Column({ type: 'text' }) namespace: string;
  @Column({ type: 'text' }) name: string;
  @Column({ name: 'replica_id', type: 'text' }) replicaId: string;
  @Column({ name: 'agent_type', type: 'text' }) agentType: AgentType;
  @Column({ type: 'text' }) provider: string;
  /** The name of its definition. */
  @Column({ type: 'text', nullable: true }) definition: string | null;
  @Column({ type: 'integer', nullable: true }) revision: number | null;
  /** What each run may use, for an agent without a definition. */
  @Column({ name: 'run_limit', type: 'json', nullable: true }) runLimit: SpendingLimit | null;
  /** How many runs the agent accepts at a time, for an agent without a definition; null: no limit. */
  @Column({ name: 'max_runs', type: 'integer', nullable: true }) maxRuns: number | null;
  /** Read from the agent with each beat. */
  @Column({ type: 'text' }) state: AgentState;
  @Column({ name: 'in_flight', type: 'integer' }) inFlight: number;
  @Column({ name: 'spawned_by', type: 'text' }) spawnedBy: string;
  @Column({ name: 'spawned_at', type: 'timestamptz', default: () => 'clock_timestamp()' }) spawnedAt: Date;
}

/** A command to another replica, with its result. */
@Entity('runtime_command')
@Index('runtime_command_replica', ['replicaId'], { where: '(NOT is_taken)' })
export class RuntimeCommandEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'runtime_command_pkey' }) id: string;
  @Column({ name: 'replica_id', type: 'text' }) replicaId: string;
  @Column({ type: 'jsonb' }) command: object;
  @Column({ name: 'expires_at', type: 'timestamptz' }) expiresAt: Date;
  /** Whether the replica has started to execute it. */
  @Column({ name: 'is_taken', type: 'boolean', default: false }) isTaken: boolean;
  @Column({ type: 'jsonb', nullable: true }) result: object | null;
}
