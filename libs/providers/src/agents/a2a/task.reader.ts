import { Role, type Artifact, type Message, type StreamResponse, type Task } from '@a2a-js/sdk';
import { ProviderError, type ProviderErrorCode } from '../../errors.js';
import { hideDeep } from '../../secret.js';
import type { AgentEvent, AgentResult, AgentUsage } from '../agent.js';
import { readUsage } from '../wire/wire.js';
import { dataOf, standingOf, textOf, toConversation } from './a2a.mapper.js';
import { Artifacts } from './artifacts.js';

type Status = NonNullable<Task['status']>;

/**
 * Follows one task, or one message that takes its place, from its first event to its last. The text of the result is that
 * of the artifacts; where there are none, that of the last status. A question is always that of the status.
 */
export class TaskReader {
  taskId?: string;
  /** Whether the other side has said its last word on it. */
  ended = false;
  private held?: Task;
  private contextId?: string;
  private readonly artifacts = new Artifacts();
  private metadata: Record<string, unknown> | undefined;

  /** A task that is continued may first be shown as it was; that counts only if nothing follows. */
  constructor(
    private readonly label: string,
    private continues = false,
    private readonly hide: (text: string) => string = (text) => text,
  ) {}

  *read({ payload }: StreamResponse): Generator<AgentEvent> {
    this.held = undefined;
    if (this.continues && payload?.$case === 'task') return this.hold(payload.value);
    switch (payload?.$case) {
      case 'message':
        return yield* this.whole(payload.value);
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
        return; // an event of a later version
    }
  }

  /** What is left to say when nothing more comes. */
  *rest(): Generator<AgentEvent> {
    if (this.held) yield* this.task(this.held);
  }

  /** How the task stands, told whole; what was said before is not said again. */
  *task(task: Task): Generator<AgentEvent> {
    this.taskId = task.id;
    this.contextId = task.contextId || this.contextId;
    this.metadata = task.metadata ?? this.metadata;
    for (const artifact of task.artifacts ?? []) yield* this.artifact(artifact, false);
    yield* this.status(task.status);
  }

  private hold(task: Task): void {
    this.continues = false;
    this.held = task;
    this.taskId = task.id;
  }

  private *whole(message: Message): Generator<AgentEvent> {
    this.contextId = message.contextId || undefined;
    this.metadata = message.metadata;
    if (message.role !== Role.ROLE_AGENT) return;
    yield* this.say(this.artifacts.put(message.messageId, message, false));
    yield this.finished('completed');
  }

  private *artifact(artifact: Artifact | undefined, append: boolean): Generator<AgentEvent> {
    if (artifact) yield* this.say(this.artifacts.put(artifact.artifactId, artifact, append));
  }

  private *say(text: string): Generator<AgentEvent> {
    if (text !== '') yield { type: 'text', text: this.hide(text) };
  }

  private *status(status?: Status): Generator<AgentEvent> {
    const said = textOf(status?.message?.parts);
    switch (standingOf(status?.state)) {
      case 'completed':
        return yield this.finished('completed', said, dataOf(status?.message?.parts));
      case 'asks':
        return yield this.finished('input-required', said, dataOf(status?.message?.parts));
      case 'failed':
        throw this.end('AGENT_FAILED', `failed: ${said || 'it did not say why'}`);
      case 'declined':
        throw this.end('AGENT_REQUEST_REFUSED', `declined: ${said || 'it did not say why'}`);
      case 'cancelled':
        throw this.end('AGENT_FAILED', `failed: ${said || 'it cancelled the task by itself'}`);
      case 'at work':
        if (said !== '') yield { type: 'progress', text: this.hide(said) };
    }
  }

  private finished(outcome: AgentResult['outcome'], said = '', more: unknown[] = []): AgentEvent {
    this.ended = true;
    const { text, data } = this.artifacts;
    const spoken = outcome === 'completed' ? text || said : said || text;
    const result: AgentResult = { outcome, text: this.hide(spoken), usage: this.usage };
    if (this.contextId) result.conversationId = toConversation(this.contextId, outcome, this.taskId);
    const all = [...data, ...more].map((one) => hideDeep(one, this.hide));
    if (all.length > 0) result.data = all.length === 1 ? all[0] : all;
    return { type: 'finished', result };
  }

  private end(code: ProviderErrorCode, how: string): ProviderError {
    this.ended = true;
    return new ProviderError(code, `${this.label} ${this.hide(how)}`, { usage: this.usage });
  }

  private get usage(): AgentUsage {
    return readUsage(this.metadata?.['usage']);
  }
}
