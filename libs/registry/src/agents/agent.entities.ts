import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { FlapState } from '../leases/flap.damping.js';
import type { AgentProviderFacts, CostModel, DesiredState, LeaveReason, WorkMode } from './agent.record.js';

/**
 * The latest registration of an agentId. The agent is live while `left_at` is null. The row stays after the agent leaves, so
 * that the next registration gets the next generation. `agent_lease` has the columns that heartbeats change, `agent_circuit` those
 * that calls change, and `agent_intent` has the desired state that the operator set.
 */
@Entity('agent')
@Index('agent_namespace', ['namespace', 'agentId'], { where: 'left_at IS NULL' })
export class AgentEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_pkey' }) agentId: string;
  /** The prefix of `agentId`, as a column for lists and counts. */
  @Column({ type: 'text', default: 'default' }) namespace: string;
  @Column({ type: 'bigint' }) generation: string;
  /** Counts the writes of this registration: its declaration, its desired state, its health and its end. Calls do not change it. */
  @Column({ type: 'bigint' }) revision: string;
  @Index('agent_token_hash')
  @Column({ type: 'text', name: 'token_hash' })
  tokenHash: string;
  @Column({ type: 'text' }) name: string;
  @Column({ type: 'text', nullable: true }) endpoint: string | null;
  @Column({ type: 'text', default: 'push' }) work: WorkMode;
  @Column({ type: 'boolean', default: false }) idempotent: boolean;
  @Column({ type: 'jsonb', name: 'agent_card', nullable: true }) agentCard: Record<string, unknown> | null;
  @Column({ type: 'text', array: true }) capabilities: string[];
  /** The keys by which queries find the agent: its capabilities in their normal form, and their ancestors. */
  @Index('agent_capability_keys', { synchronize: false })
  @Column({ type: 'text', array: true, name: 'capability_keys', default: [] })
  capabilityKeys: string[];
  @Column({ type: 'integer', name: 'sandbox_level' }) sandboxLevel: number;
  @Column({ type: 'jsonb' }) provider: AgentProviderFacts;
  @Column({ type: 'jsonb', name: 'cost_model' }) costModel: CostModel;
  @Column({ type: 'jsonb' }) labels: Record<string, string>;
  @Column({ type: 'text', nullable: true }) version: string | null;
  @Column({ type: 'text', nullable: true }) definition: string | null;
  @Column({ type: 'integer', nullable: true }) capacity: number | null;
  @Column({ type: 'integer', name: 'declared_ms', nullable: true }) declaredMs: number | null;
  @Column({ type: 'integer', name: 'typical_tokens', nullable: true }) typicalTokens: number | null;
  @Column({ type: 'bigint', name: 'budget_total', nullable: true }) budgetTotal: string | null;
  @Column({ type: 'bigint', name: 'budget_used' }) budgetUsed: string;
  @Column({ type: 'text', name: 'budget_source' }) budgetSource: string;
  @Column({ type: 'jsonb' }) flap: FlapState;
  @Column({ type: 'timestamptz', name: 'registered_at' }) registeredAt: Date;
  /** The owner. The index is used to count the live agents of an owner, for its quota. */
  @Index('agent_registered_by', { where: 'left_at IS NULL' })
  @Column({ type: 'text', name: 'registered_by' })
  registeredBy: string;
  @Index('agent_left_at')
  @Column({ type: 'timestamptz', name: 'left_at', nullable: true })
  leftAt: Date | null;
  @Column({ type: 'text', name: 'leave_reason', nullable: true }) leaveReason: LeaveReason | null;
}

/** The desired state that an operator set for an agentId. It has its own table, so that no registration overwrites it. */
@Entity('agent_intent')
export class IntentEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_intent_pkey' }) agentId: string;
  @Column({ type: 'text', name: 'desired_state' }) desiredState: DesiredState;
  @Column({ type: 'text', nullable: true }) note: string | null;
  @Column({ type: 'text', name: 'set_by' }) setBy: string;
  @Column({ type: 'timestamptz', name: 'set_at' }) setAt: Date;
}

/**
 * One row: the highest generation of all deleted agents. The first registration of an agentId without a row gets the next higher
 * generation, so a client that still uses a deleted registration of that agentId is rejected.
 */
@Entity('agent_forgotten')
export class ForgottenEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'agent_forgotten_pkey' }) id: number;
  @Column({ type: 'bigint' }) generation: string;
}
