import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/**
 * A conversation of one principal in one namespace. Two principals that choose the same id have two conversations. The row is locked
 * while a run of the conversation is stored, so the order of its runs is the order of their commits.
 */
@Entity('conversation')
@Index('conversation_id', ['namespace', 'createdBy', 'id'], { unique: true })
@Index('conversation_namespace', ['namespace', 'seq'])
@Index('conversation_owner', ['namespace', 'createdBy', 'seq'])
export class ConversationEntity {
  /** The order of creation. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'conversation_pkey',
  })
  seq: string;

  @Column({ type: 'text' }) namespace: string;
  @Column({ type: 'text', name: 'created_by' }) createdBy: string;
  @Column({ type: 'text' }) id: string;
  /** The agent of the last run. */
  @Column({ type: 'text', name: 'agent_id' }) agentId: string;
  /** How many runs were started in it. */
  @Column({ type: 'integer', default: 1 }) runs: number;
  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' }) createdAt: Date;
  @Index('conversation_last_run')
  @Column({ type: 'timestamptz', name: 'last_run_at', default: () => 'clock_timestamp()' })
  lastRunAt: Date;
  /** The folder of its workspace: the id of the first run if that run had begun without the conversation, otherwise an id of its own. */
  @Index('conversation_workspace')
  @Column({ type: 'text', name: 'workspace_id', default: () => '(gen_random_uuid())' })
  workspaceId: string;
}
