import { Role, type Artifact, type Message, type StreamResponse, type Task } from '@a2a-js/sdk';
import { ProviderError, type ProviderErrorCode } from '../../errors.js';
import { redactDeep } from '../../secret.js';
import type { AgentEvent, AgentResult, AgentUsage } from '../agent.js';
import { readUsage } from '../wire/wire.js';
import { dataOf, phaseOf, textOf, toConversation } from './a2a.mapper.js';
import { Artifacts } from './artifacts.js';

type Status = NonNullable<Task['status']>;

/**
 * Converts the events of one task, or the message that an agent sends instead of a task. The text of a result comes from the
 * artifacts, or from the last status if there are no artifacts. The text of a question always comes from the status.
 */
export class TaskReader {
  taskId?: string;
  /** Whether the task has ended. */
  ended = false;
  private oldState?: Task;
  private contextId?: string;
  private readonly artifacts = new Artifacts();
  private metadata: Record<string, unknown> | undefined;

  /** With `continues`, the first event may be the old state of the task. That state counts only if no other event follows. */
  constructor(
    private readonly label: string,
    private continues = false,
    private readonly redact: (text: string) => string = (text) => text,
  ) {}

  *read({ payload }: StreamResponse): Generator<AgentEvent> {
    this.oldState = undefined;
    if (this.continues && payload?.$case === 'task') return this.keepOldState(payload.value);
    switch (payload?.$case) {
      case 'message':
        return yield* this.message(payload.value);
      case 'task':
        return yield* this.task(payload.value);
      case 'artifactUpdate':
        this.taskId ??= payload.value.taskId || undefined;
        return yield* this.artifact(payload.value.artifact, payload.value.append);
      case 'statusUpdate':
        this.taskId ??= payload.value.taskId || undefined;
        this.metadata = payload.value.metadata ?? this.metadata;
        return yield* this.status(payload.value.status);
      case undefined:
        return; // an event type of a later protocol version
    }
  }

  /** Call it at the end of the stream: it handles an old state that no other event followed. */
  *rest(): Generator<AgentEvent> {
    if (this.oldState) yield* this.task(this.oldState);
  }

  /** Reads the complete state of a task. It yields only text that was not yielded before. */
  *task(task: Task): Generator<AgentEvent> {
    this.taskId = task.id;
    this.contextId = task.contextId || this.contextId;
    this.metadata = task.metadata ?? this.metadata;
    for (const artifact of task.artifacts ?? []) yield* this.artifact(artifact, false);
    yield* this.status(task.status);
  }

  private keepOldState(task: Task): void {
    this.continues = false;
    this.oldState = task;
    this.taskId = task.id;
  }

  private *message(message: Message): Generator<AgentEvent> {
    this.contextId = message.contextId || undefined;
    this.metadata = message.metadata;
    if (message.role !== Role.ROLE_AGENT) return;
    yield* this.newText(this.artifacts.put(message.messageId, message, false));
    yield this.finished('completed');
  }

  private *artifact(artifact: Artifact | undefined, append: boolean): Generator<AgentEvent> {
    if (artifact) yield* this.newText(this.artifacts.put(artifact.artifactId, artifact, append));
  }

  private *newText(text: string): Generator<AgentEvent> {
    if (text !== '') yield { type: 'text', text: this.redact(text) };
  }

  private *status(status?: Status): Generator<AgentEvent> {
    const statusText = textOf(status?.message?.parts);
    switch (phaseOf(status?.state)) {
      case 'completed':
        return yield this.finished('completed', statusText, dataOf(status?.message?.parts));
      case 'input-required':
        return yield this.finished('input-required', statusText, dataOf(status?.message?.parts));
      case 'failed':
        throw this.end('AGENT_FAILED', `failed: ${statusText || 'it gave no reason'}`);
      case 'rejected':
        throw this.end('AGENT_REQUEST_REFUSED', `rejected the request: ${statusText || 'it gave no reason'}`);
      case 'cancelled':
        throw this.end('AGENT_FAILED', `failed: ${statusText || 'it cancelled the task itself'}`);
      case 'working':
        if (statusText !== '') yield { type: 'progress', text: this.redact(statusText) };
    }
  }

  private finished(outcome: AgentResult['outcome'], statusText = '', more: unknown[] = []): AgentEvent {
    this.ended = true;
    const { text, data } = this.artifacts;
    const answer = outcome === 'completed' ? text || statusText : statusText || text;
    const result: AgentResult = { outcome, text: this.redact(answer), usage: this.usage };
    if (this.contextId) result.conversationId = toConversation(this.contextId, outcome, this.taskId);
    const all = [...data, ...more].map((one) => redactDeep(one, this.redact));
    if (all.length > 0) result.data = all.length === 1 ? all[0] : all;
    return { type: 'finished', result };
  }

  private end(code: ProviderErrorCode, how: string): ProviderError {
    this.ended = true;
    return new ProviderError(code, `${this.label} ${this.redact(how)}`, { usage: this.usage });
  }

  private get usage(): AgentUsage {
    return readUsage(this.metadata?.['usage']);
  }
}
