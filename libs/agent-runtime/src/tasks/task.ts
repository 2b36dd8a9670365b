import type { AgentUsage, ContentPart, WireMessage } from '#rollcall/providers';
import type { LeaseCredential } from '#rollcall/registry';

/**
 * `offered`: the agent may take it. `taken`: a registration of the agent executes it. `finished`: its result is stored. `cancelled` and
 * `expired`: the run does not need it any more. `lost`: the registration that took it ended, and it must not be repeated.
 */
export type TaskState = 'offered' | 'taken' | 'finished' | 'cancelled' | 'expired' | 'lost';

/** What the agent receives, as agents with an endpoint receive it. */
export type TaskContent = Omit<WireMessage, 'type' | 'id' | 'callId'>;

/** A task that is stored together with the step that announces the call. */
export interface NewTask {
  readonly callId: string;
  readonly runId: string;
  /** The qualified id of the agent. */
  readonly agentId: string;
  readonly isIdempotent: boolean;
  readonly content: TaskContent;
}

/** A task that an agent has taken. */
export interface TakenTask {
  readonly callId: string;
  readonly runId: string;
  readonly content: TaskContent;
}

/** What an agent receives when it asks for tasks. */
export interface TaskDelivery {
  readonly tasks: readonly TakenTask[];
  /** The tasks that the agent holds although they are not its tasks any more. It should stop working on them. */
  readonly cancelled: readonly string[];
}

export interface TakeRequest {
  readonly credential: LeaseCredential;
  /** How many tasks the agent can execute in addition to those that it holds. */
  readonly most: number;
  /**
   * The tasks that the agent holds. Tasks that this registration has taken and does not hold were lost on the way, and are delivered
   * again. Without it, no task is delivered again.
   */
  readonly holding?: readonly string[];
}

/** An output with an identity, such as a file. */
export interface TaskArtifact {
  readonly id: string;
  readonly name?: string;
  readonly parts: readonly ContentPart[];
}

/** The result of a task, as the agent reports it. */
export interface TaskReport {
  readonly outcome: 'completed' | 'input-required' | 'refused' | 'stopped' | 'failed';
  /** The answer without the artifacts. */
  readonly parts: readonly ContentPart[];
  readonly artifacts?: readonly TaskArtifact[];
  readonly usage: AgentUsage;
  /** The limit that stopped the agent. */
  readonly reason?: string;
  /** An explanation for humans; for `failed`, the error. */
  readonly detail?: string;
  readonly conversationId?: string;
}

/** What an agent reports while it executes a task. It is not stored. */
export interface TaskProgress {
  /** `text`: a piece of the answer. `progress`: what the agent does. */
  readonly type: 'text' | 'progress';
  readonly text: string;
}

/** The n-th call of a run has the same id in all executions of the run. */
export function taskIdOf(runId: string, call: number): string {
  return `${runId}-${call}`;
}
