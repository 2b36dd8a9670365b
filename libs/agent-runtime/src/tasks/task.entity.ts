import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { TaskContent, TaskReport, TaskState } from './task.js';

/** A call of an agent that takes its tasks. It is stored together with the step that announces the call. */
@Entity('agent_task')
@Index('agent_task_open', ['agentId', 'state', 'offeredAt'], { where: "state IN ('offered', 'taken')" })
export class AgentTaskEntity {
  @PrimaryColumn({ type: 'text', name: 'call_id', primaryKeyConstraintName: 'agent_task_pkey' }) callId: string;
  @Index('agent_task_run')
  @Column({ type: 'text', name: 'run_id' })
  runId: string;
  /** The qualified id of the agent. */
  @Column({ type: 'text', name: 'agent_id' }) agentId: string;
  @Column({ type: 'text', default: 'offered' }) state: TaskState;
  @Column({ type: 'boolean' }) idempotent: boolean;
  /** The registration that has taken the task. */
  @Column({ type: 'bigint', nullable: true }) generation: string | null;
  /** Null when the call has ended: its input and its result are then in the steps of the run. */
  @Column({ type: 'json', nullable: true }) content: TaskContent | null;
  @Column({ type: 'json', nullable: true }) result: TaskReport | null;
  /** Recognises a repetition of the result. */
  @Column({ type: 'text', name: 'result_hash', nullable: true }) resultHash: string | null;
  @Column({ type: 'timestamptz', name: 'offered_at', default: () => 'clock_timestamp()' }) offeredAt: Date;
  /** When an agent took it for the first time. */
  @Column({ type: 'timestamptz', name: 'taken_at', nullable: true }) takenAt: Date | null;
}
