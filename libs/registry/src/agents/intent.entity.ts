import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DesiredState } from './agent.record.js';

/** The desired state that an operator set for an agentId. It has its own table, so that no registration overwrites it. */
@Entity('agent_intent')
export class IntentEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_intent_pkey' }) agentId: string;
  @Column({ type: 'text', name: 'desired_state' }) desiredState: DesiredState;
  @Column({ type: 'text', nullable: true }) note: string | null;
  @Column({ type: 'text', name: 'set_by' }) setBy: string;
  @Column({ type: 'timestamptz', name: 'set_at' }) setAt: Date;
}
