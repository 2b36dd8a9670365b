import {
  Message,
  Role,
  TaskState,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
} from '@a2a-js/sdk';
import { ProviderError } from '../../errors.js';
import type { AgentEvent, AgentMessage, AgentResult, HandleOptions } from '../agent.js';
import { readUsage } from '../wire/wire.js';

type Status = NonNullable<Task['status']>;
type Metadata = Record<string, unknown> | undefined;

/** The one file that knows both our words and those of A2A: their task, message and artifact end here. */
export function toSendMessage({ text, data }: AgentMessage, options: HandleOptions): SendMessageRequest {
  const message = Message.fromJSON({
    messageId: options.callId ?? crypto.randomUUID(),
    ...placeOf(options.conversationId),
    role: 'ROLE_USER',
    parts: [
      { text, mediaType: 'text/plain' },
      ...(data === undefined ? [] : [{ data, mediaType: 'application/json' }]),
    ],
    ...(options.budget && { metadata: { budget: options.budget } }),
  });
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

/** A task that asks back goes on only if the answer names it, so a conversation remembers its open task. */
function toConversation(contextId: string, outcome: AgentResult['outcome'], taskId = ''): string {
  return outcome === 'completed' ? contextId : `${contextId}${TASK_MARK}${taskId}`;
}

function placeOf(conversationId = ''): { contextId?: string; taskId?: string } {
  const [contextId, taskId] = conversationId.split(TASK_MARK);
  return { ...(contextId && { contextId }), ...(taskId && { taskId }) };
}

const TASK_MARK = '#task=';

/**
 * Follows one task, or one message that takes its place, from its first event to its last. The text of the result is that
 * of the artifacts; where there are none, that of the last status.
 */
export class TaskReader {
  taskId?: string;
  /** Whether the other side has said its last word on it. */
  ended = false;
  private held?: Task;
  private contextId?: string;
  private text = '';
  private readonly data: unknown[] = [];
  private metadata: Metadata;

  /** A task that is continued may first be shown as it was; that counts only if nothing follows. */
  constructor(
    private readonly label: string,
    private continues = false,
    private readonly hide: (text: string) => string = (text) => text,
  ) {}

  *read({ payload }: StreamResponse): Generator<AgentEvent> {
    this.held = undefined;
    if (this.continues && payload?.$case === 'task') {
      this.continues = false;
      this.held = payload.value;
      this.taskId = payload.value.id;
      return;
    }
    switch (payload?.$case) {
      case 'message':
        return yield* this.whole(payload.value);
      case 'task':
        return yield* this.task(payload.value);
      case 'artifactUpdate':
        return yield* this.parts(payload.value.artifact?.parts ?? []);
      case 'statusUpdate':
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

  private *whole(message: Message): Generator<AgentEvent> {
    this.contextId = message.contextId || undefined;
    this.metadata = message.metadata;
    if (message.role !== Role.ROLE_AGENT) return;
    yield* this.parts(message.parts);
    yield this.finished('completed');
  }

  private *task(task: Task): Generator<AgentEvent> {
    this.taskId = task.id;
    this.contextId = task.contextId;
    this.metadata = task.metadata ?? this.metadata;
    for (const artifact of task.artifacts) yield* this.parts(artifact.parts);
    yield* this.status(task.status);
  }

  private *parts(parts: Part[]): Generator<AgentEvent> {
    for (const { content } of parts) {
      if (content?.$case === 'data') this.data.push(content.value);
      if (content?.$case !== 'text') continue;
      this.text += content.value;
      yield { type: 'text', text: content.value };
    }
  }

  private *status(status?: Status): Generator<AgentEvent> {
    const said = (status?.message?.parts ?? [])
      .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
      .join('');
    switch (status?.state) {
      case TaskState.TASK_STATE_COMPLETED:
        return yield this.finished('completed', said);
      case TaskState.TASK_STATE_INPUT_REQUIRED:
      case TaskState.TASK_STATE_AUTH_REQUIRED:
        return yield this.finished('input-required', said);
      case TaskState.TASK_STATE_FAILED:
      case TaskState.TASK_STATE_REJECTED:
        throw this.failed(said || 'it did not say why');
      case TaskState.TASK_STATE_CANCELED:
        throw this.failed(said || 'it cancelled the task by itself');
      case TaskState.TASK_STATE_SUBMITTED:
      case TaskState.TASK_STATE_WORKING:
      case TaskState.TASK_STATE_UNSPECIFIED:
      case TaskState.UNRECOGNIZED:
      case undefined:
        if (said !== '') yield { type: 'progress', text: said };
    }
  }

  private finished(outcome: AgentResult['outcome'], said = ''): AgentEvent {
    this.ended = true;
    const result: AgentResult = { outcome, text: this.text || said, usage: readUsage(this.metadata?.['usage']) };
    if (this.contextId) result.conversationId = toConversation(this.contextId, outcome, this.taskId);
    if (this.data.length > 0) result.data = this.data.length === 1 ? this.data[0] : this.data;
    return { type: 'finished', result };
  }

  private failed(said: string): ProviderError {
    this.ended = true;
    const usage = readUsage(this.metadata?.['usage']);
    return new ProviderError('AGENT_FAILED', `${this.label} failed: ${this.hide(said)}`, { usage });
  }
}
