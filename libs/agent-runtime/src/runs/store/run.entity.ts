import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { A2aEnvelope, AgentUsage, ContentPart } from '#rollcall/providers';
import type { RunTarget, RunTrace } from '../run.js';
import type { ContentPreview, ResultPreview } from '../run.preview.js';
import type { RunResult, RunStatus, WaitingFor } from '../run.status.js';
import type { RunStep } from '../run.step.js';

/** A run, and the lease of the replica that executes it. A delegated run has no lease: the lease of its root applies. */
@Entity('run')
@Index('run_namespace', ['namespace', 'seq'])
@Index('run_changes', ['namespace', 'createdBy', 'stateAt', 'seq'], { where: 'parent_id IS NULL' })
@Index('run_of_caller', ['namespace', 'createdBy', 'seq'], { where: 'parent_id IS NULL' })
@Index('run_root', ['rootId', 'seq'])
@Index('run_redactable', ['finishedAt'], { where: 'parent_id IS NULL AND redacted_at IS NULL' })
@Index('run_redaction_requested', ['finishedAt'], {
  where: 'redact_after_ms IS NOT NULL AND parent_id IS NULL AND redacted_at IS NULL',
})
@Index('run_waiting', ['deadline'], { where: "state = 'waiting' AND parent_id IS NULL" })
@Index('run_open', ['namespace', 'createdBy', 'agentId', 'seq'], {
  where: "state IN ('queued', 'running') AND parent_id IS NULL",
})
@Index('run_conversation', ['namespace', 'createdBy', 'conversationId', 'seq'], {
  where: 'conversation_id IS NOT NULL',
})
@Index('run_conversation_open', ['namespace', 'createdBy', 'conversationId', 'seq'], {
  where: 'conversation_id IS NOT NULL AND finished_at IS NULL',
})
export class RunEntity {
  /** The order of creation. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'BY DEFAULT',
    primaryKeyConstraintName: 'run_pkey',
  })
  seq: string;

  @Index('run_id', { unique: true })
  @Column({ type: 'text' })
  id: string;

  @Column({ type: 'text' }) namespace: string;
  @Column({ type: 'text', name: 'root_id' }) rootId: string;
  @Column({ type: 'text', name: 'parent_id', nullable: true }) parentId: string | null;
  @Column({ type: 'integer', default: 0 }) depth: number;
  @Column({ type: 'text', name: 'retry_of', nullable: true }) retryOf: string | null;
  /** Null if the run belongs to no conversation of its caller. */
  @Column({ type: 'text', name: 'conversation_id', nullable: true }) conversationId: string | null;
  @Column({ type: 'text' }) state: RunStatus;
  /** When the run entered its state. */
  @Column({ type: 'timestamptz', name: 'state_at', default: () => 'clock_timestamp()' }) stateAt: Date;
  @Column({ type: 'text', name: 'waiting_for', nullable: true }) waitingFor: WaitingFor | null;
  @Column({ type: 'json' }) target: RunTarget;
  @Column({ type: 'text', name: 'agent_id' }) agentId: string;
  @Column({ type: 'text', nullable: true }) definition: string | null;
  @Column({ type: 'integer', nullable: true }) revision: number | null;
  /** The replica that hosts the agent. Other replicas claim the run only after a while. */
  @Column({ type: 'uuid', nullable: true }) host: string | null;
  @Column({ type: 'json' }) input: ContentPart[];
  /** Null in a row of an older version. Everything that writes the input also writes its preview. */
  @Column({ type: 'json', name: 'input_preview', nullable: true }) inputPreview: ContentPreview | null;
  /** What an A2A client sent with the input. */
  @Column({ type: 'json', nullable: true }) a2a: A2aEnvelope | null;
  /** How the spans of the run are connected; null if it is not traced. */
  @Column({ type: 'json', nullable: true }) trace: RunTrace | null;
  @Column({ type: 'bigint', name: 'limit_tokens', nullable: true }) limitTokens: string | null;
  @Column({ type: 'bigint', name: 'limit_micro_usd', nullable: true }) limitMicroUsd: string | null;
  @Column({ type: 'timestamptz', nullable: true }) deadline: Date | null;
  @Column({ type: 'json', nullable: true }) result: RunResult | null;
  @Column({ type: 'json', name: 'result_preview', nullable: true }) resultPreview: ResultPreview | null;
  @Column({ type: 'json', nullable: true }) usage: AgentUsage | null;
  @Column({ type: 'integer', default: 0 }) attempts: number;
  /** How many replicas lost their lease while they executed the run. */
  @Column({ type: 'integer', default: 0 }) crashes: number;
  /** How many of them lost it in the last of these steps. A decision of an operator resets it. */
  @Column({ type: 'integer', name: 'crashes_in_step', default: 0 }) crashesInStep: number;
  /** How many steps the whole tree had when a lease was last lost, without the steps that announce a call. */
  @Column({ type: 'integer', name: 'crashed_after', nullable: true }) crashedAfter: number | null;
  @Column({ type: 'text', name: 'created_by' }) createdBy: string;
  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' }) createdAt: Date;
  @Column({ type: 'timestamptz', name: 'queued_at', default: () => 'clock_timestamp()' }) queuedAt: Date;
  @Column({ type: 'timestamptz', name: 'started_at', nullable: true }) startedAt: Date | null;
  @Index('run_finished_at', { where: 'parent_id IS NULL' })
  @Column({ type: 'timestamptz', name: 'finished_at', nullable: true })
  finishedAt: Date | null;

  /** How long the contents are kept after the end, if the request that started the run limits this time. */
  @Column({ type: 'integer', name: 'redact_after_ms', nullable: true }) redactAfterMs: number | null;
  /** When the contents were removed. */
  @Column({ type: 'timestamptz', name: 'redacted_at', nullable: true }) redactedAt: Date | null;

  /** The plugins that a replica needs to execute the run. */
  @Column({ type: 'text', array: true, default: [] }) plugins: string[];

  @Column({ type: 'uuid', name: 'lease_owner', nullable: true }) leaseOwner: string | null;
  /** Changes with every claim and is removed when the run is cancelled. A write with an old token has no effect. */
  @Column({ type: 'uuid', name: 'lease_token', nullable: true }) leaseToken: string | null;
  @Column({ type: 'timestamptz', name: 'lease_until', nullable: true }) leaseUntil: Date | null;
}

/** One step of a run. A row never changes, except when its contents are removed after the end of the run. */
@Entity('run_step')
export class RunStepEntity {
  @PrimaryColumn({ type: 'text', name: 'run_id', primaryKeyConstraintName: 'run_step_pkey' }) runId: string;
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'run_step_pkey' }) seq: number;
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' }) at: Date;
  @Column({ type: 'json' }) step: RunStep;
}
