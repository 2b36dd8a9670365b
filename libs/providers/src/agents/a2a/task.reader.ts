import { type Artifact, type Message, Role, type StreamResponse, type Task } from '@a2a-js/sdk';
import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { redactDeep } from '../../secrets/secret.js';
import type { AgentEvent, AgentOutcome, AgentUsage, RemoteTask } from '../agent.js';
import { ArtifactParts } from '../artifact.parts.js';
import { type ContentPart, type Redact, redactParts, textOfParts } from '../content.part.js';
import { readUsage } from '../wire/wire.schema.js';
import { fromA2aParts, phaseOf, toConversation } from './a2a.mapper.js';

type Status = NonNullable<Task['status']>;

/** The extension of Rollcall: live facts in cards, and the facts of the run in the metadata of its task. */
export const RUN_EXTENSION = 'urn:rollcall:a2a:v1';

/** A2A has no state for an agent that reached a limit, so a failed task with this metadata counts as stopped. */
const StoppedSchema = z.object({ reason: z.string(), detail: z.string().nullish() });
/** A Rollcall behind this one describes its runs in this way. The usage is that of the whole run. */
const StoppedRunSchema = StoppedSchema.extend({ state: z.literal('stopped') });
const RunSchema = z.object({ usage: z.unknown() });

interface TaskReaderOptions {
  /** The id of the task that the message continues. */
  readonly continued?: string;
  /** The task that an earlier attempt has started. */
  readonly resumed?: RemoteTask;
  /** What earlier messages of the task have used. */
  readonly usedBefore?: AgentUsage;
  readonly redact?: Redact;
}

/**
 * Converts the events of one task, or the message that an agent sends instead of a task. The text of a result comes from the
 * artifacts, or from the last status if there are no artifacts. The text of a question or a refusal comes from the status.
 */
export class TaskReader {
  /** Whether the task has ended. */
  ended = false;
  /** Whether the task waits for an authorization. The agent continues by itself when it has been given. */
  needsAuthorization = false;
  /** The id of the task, as soon as it is known. */
  taskId?: string;
  private continues: boolean;
  private oldState?: Task;
  private contextId?: string;
  private readonly artifacts = new ArtifactParts();
  private authorizationText = '';
  private metadata: Record<string, unknown> | undefined;
  private readonly redact: Redact;
  private readonly usedBefore: AgentUsage;

  /**
   * If the message continues a task, the first event may be the old state of the task. It counts only if no other event follows. The state
   * of a resumed task is not the answer to an earlier message.
   */
  constructor(
    private readonly label: string,
    { continued, resumed, usedBefore = {}, redact = (text) => text }: TaskReaderOptions = {},
  ) {
    this.taskId = (resumed?.taskId ?? continued) || undefined;
    this.continues = resumed === undefined && this.taskId !== undefined;
    this.contextId = resumed?.contextId;
    this.usedBefore = usedBefore;
    this.redact = redact;
  }

  *read({ payload }: StreamResponse): Generator<AgentEvent> {
    this.oldState = undefined;
    if (this.continues && payload?.$case === 'task') return this.keepOldState(payload.value);
    switch (payload?.$case) {
      case 'message':
        return yield* this.message(payload.value);
      case 'task':
        return yield* this.task(payload.value);
      case 'artifactUpdate':
        this.identify(payload.value);
        return yield* this.artifact(payload.value.artifact, payload.value.append, payload.value.lastChunk);
      case 'statusUpdate':
        this.identify(payload.value);
        this.metadata = payload.value.metadata ?? this.metadata;
        return yield* this.status(payload.value.status);
      case undefined:
        return; // an event type of a later protocol version
    }
  }

  /** Must be called at the end of the stream. It handles an old state if no other event followed it. */
  *rest(): Generator<AgentEvent> {
    if (this.oldState) yield* this.task(this.oldState);
  }

  /** Reads the complete state of a task. It yields only content that was not yielded before. */
  *task(task: Task): Generator<AgentEvent> {
    this.checkTask(task.id);
    this.taskId = task.id;
    this.contextId = task.contextId || this.contextId;
    this.metadata = task.metadata ?? this.metadata;
    for (const artifact of task.artifacts ?? []) yield* this.artifact(artifact, false, false);
    yield* this.status(task.status);
  }

  /** Reads the ids from every event, because the first event of a stream need not be the task. */
  private identify({ taskId, contextId }: { taskId: string; contextId: string }): void {
    this.checkTask(taskId);
    this.taskId ??= taskId || undefined;
    this.contextId ??= contextId || undefined;
  }

  /** Rejects events of other tasks, because their content may belong to another caller of the agent. */
  private checkTask(id: string): void {
    if (!this.taskId || !id || id === this.taskId) return;
    this.ended = true;
    throw new ProviderError('AGENT_ANSWER_UNREADABLE', `${this.label} sent an event of another task.`);
  }

  private keepOldState(task: Task): void {
    this.continues = false;
    this.checkTask(task.id);
    this.oldState = task;
  }

  private *message(message: Message): Generator<AgentEvent> {
    this.contextId = message.contextId || undefined;
    this.metadata = message.metadata;
    if (message.role !== Role.ROLE_AGENT) return;
    const parts = fromA2aParts(message.parts);
    const text = textOfParts(parts);
    if (text !== '') yield { type: 'text', text: this.redact(text) };
    yield this.finished({ outcome: 'completed' }, parts);
  }

  private *artifact(artifact: Artifact | undefined, append: boolean, last: boolean): Generator<AgentEvent> {
    if (!artifact) return;
    const { artifactId: id, name } = artifact;
    const whole = fromA2aParts(artifact.parts);
    const addition = append ? whole : this.artifacts.additionOf(id, whole);
    const isNew = !this.artifacts.has(id);
    if (addition?.length === 0 && !isNew && !last) return; // an agent may repeat an artifact
    const chunk = { id, parts: addition ?? whole, append: addition !== undefined && !isNew };
    this.artifacts.apply(chunk);
    const parts = redactParts(chunk.parts, this.redact);
    const text = textOfParts(parts);
    if (text !== '') yield { type: 'text', text, artifactId: id };
    const about = redactDeep({ id, ...(name && { name }) }, this.redact) as { id: string; name?: string };
    yield { type: 'artifact', artifact: { ...about, parts, append: chunk.append, last } };
  }

  private *status(status?: Status): Generator<AgentEvent> {
    const parts = fromA2aParts(status?.message?.parts);
    const text = textOfParts(parts);
    const phase = phaseOf(status?.state);
    if (phase === 'auth-required') return yield* this.authorization(parts, text);
    if (this.needsAuthorization && phase === 'working') yield { type: 'authorization', required: false, parts: [] };
    this.needsAuthorization = false;
    switch (phase) {
      case 'completed':
        return yield this.finished({ outcome: 'completed' }, withoutTextOf(parts, this.artifacts.parts));
      case 'input-required':
        return yield this.finished({ outcome: 'input-required' }, parts);
      case 'rejected':
        return yield this.finished({ outcome: 'refused' }, parts);
      case 'failed':
        return yield this.stopped(parts) ?? this.failed(text || 'it gave no reason');
      case 'cancelled':
        return yield this.failed(text || 'it cancelled the task itself');
      case 'working':
        if (text !== '') yield { type: 'progress', text: this.redact(text) };
    }
  }

  /** Polls return the same status again, which is yielded once. */
  private *authorization(parts: readonly ContentPart[], text: string): Generator<AgentEvent> {
    if (this.needsAuthorization && text === this.authorizationText) return;
    this.needsAuthorization = true;
    this.authorizationText = text;
    yield { type: 'authorization', required: true, parts: redactParts(parts, this.redact) };
  }

  /** The task as the agent has accepted it; undefined until its id is known, and after its end. */
  get accepted(): RemoteTask | undefined {
    const { taskId, contextId, ended } = this;
    return taskId && !ended ? { taskId, ...(contextId && { contextId }) } : undefined;
  }

  private stopped(parts: readonly ContentPart[]): AgentEvent | undefined {
    const stopped =
      StoppedSchema.safeParse(this.metadata?.['stopped']).data ?? StoppedRunSchema.safeParse(this.run).data;
    if (!stopped) return undefined;
    const { reason, detail } = stopped;
    return this.finished({ outcome: 'stopped', reason, detail: detail || textOfParts(parts) }, []);
  }

  private finished(outcome: AgentOutcome, statusParts: readonly ContentPart[]): AgentEvent {
    this.ended = true;
    const { parts: artifactParts } = this.artifacts;
    const all =
      outcome.outcome === 'completed'
        ? [...artifactParts, ...statusParts]
        : [...statusParts, ...withoutTextOf(artifactParts, statusParts)];
    const conversationId = this.contextId && toConversation(this.contextId, outcome.outcome, this.taskId);
    const about = redactDeep(outcome, this.redact) as AgentOutcome;
    const result = { ...about, parts: redactParts(all, this.redact), usage: this.usage };
    return { type: 'finished', result: { ...result, ...(conversationId && { conversationId }) } };
  }

  private failed(why: string): never {
    this.ended = true;
    throw new ProviderError('AGENT_FAILED', `${this.label} failed: ${this.redact(why)}`, { usage: this.usage });
  }

  private get usage(): AgentUsage {
    const { success, data } = RunSchema.safeParse(this.run);
    const own = this.metadata?.['usage'];
    return own === undefined && success ? without(readUsage(data.usage), this.usedBefore) : readUsage(own);
  }

  private get run(): unknown {
    return this.metadata?.[RUN_EXTENSION];
  }
}

/** What was used in addition to an earlier usage. */
function without(usage: AgentUsage, before: AgentUsage): AgentUsage {
  const earlier = new Map(Object.entries(before));
  const rest = ([count, total]: [string, unknown]) => [
    count,
    Math.max(0, Number(total) - Number(earlier.get(count) ?? 0)),
  ];
  return Object.fromEntries(Object.entries(usage).map(rest)) as AgentUsage;
}

/** Returns the parts without their texts if the other parts contain a text. */
function withoutTextOf(parts: readonly ContentPart[], others: readonly ContentPart[]): readonly ContentPart[] {
  return textOfParts(others) === '' ? parts : parts.filter(({ type }) => type !== 'text');
}
