import type { StreamResponse, TaskArtifactUpdateEvent } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { isFinal, type Run, RunFeed, type RunStreamEvent, type StoredStep } from '#rollcall/agent-runtime';
import { type ContentPart, textPart } from '#rollcall/providers';
import { type A2aCall, keyOf } from '../a2a.call.js';
import { TaskPath } from './task.path.js';
import { agentMessage, artifact, artifactsOf, statusUpdate, toStatus, toTask } from './task.mapper.js';

type LiveEvent = Exclude<RunStreamEvent, { type: 'step' | 'state' }>;

/**
 * The events of a task, on any replica: first the task as it is, then each change once and in order. While the answer is
 * generated, each piece of it is sent as a chunk of the artifact; the last chunk replaces all earlier chunks.
 */
@Injectable()
export class TaskStream {
  constructor(private readonly feed: RunFeed) {}

  /** The stream ends with the task. With `untilInput`, it also ends when the run asks its caller a question. */
  async *of(
    call: A2aCall,
    { id }: Pick<Run, 'id'>,
    untilInput: boolean,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const messages: StoredStep[] = [];
    let updates: TaskUpdates | undefined;
    for await (const event of this.feed.watch(keyOf(call, id), 0, call.signal)) {
      if (updates) yield* updates.of(event);
      else if (event.type === 'step' && event.stored.step.type === 'message') messages.push(event.stored);
      else if (event.type === 'state') {
        updates = new TaskUpdates(event.run);
        yield { payload: { $case: 'task', value: toTask(event.run, messages) } };
      }
      if (event.type === 'state' && untilInput && event.run.waitingFor === 'input') return;
    }
  }
}

/**
 * Converts the events of a run after the snapshot. A piece may arrive before this replica has read the state `running`. Such a piece
 * is kept until that state is read, so that all subscribers get the events in the same order.
 */
export class TaskUpdates {
  private readonly path: TaskPath;
  private early: LiveEvent[] = [];
  /** The step before the last piece; undefined before the first piece. */
  private pieceAfter?: number;

  constructor(run: Run) {
    this.path = new TaskPath(run);
  }

  of(event: RunStreamEvent): StreamResponse[] {
    if (event.type === 'step') return this.afterStep(event.stored);
    if (event.type === 'state') return [...this.path.afterState(event.run).flatMap(updatesOf), ...this.released()];
    if (this.path.current.state === 'running') return this.live(event);
    this.early.push(event);
    return [];
  }

  /** A step replaces the pieces before it. */
  private afterStep(stored: StoredStep): StreamResponse[] {
    this.early = this.early.filter(({ afterStep }) => afterStep >= stored.seq);
    return this.path.afterStep(stored).flatMap(updatesOf);
  }

  private released(): StreamResponse[] {
    if (this.path.current.state !== 'running') return [];
    const { early } = this;
    this.early = [];
    return early.flatMap((event) => this.live(event));
  }

  private live(event: LiveEvent): StreamResponse[] {
    if (event.type === 'text') return [this.piece(event.text, event.afterStep)];
    if (event.type !== 'progress') return [];
    const { current } = this.path;
    const message = agentMessage(current, `${current.id}-progress-${event.afterStep}`, [textPart(event.text)]);
    return [statusUpdate(current, { ...toStatus(current), message })];
  }

  /** The text of a turn replaces the text of the previous turn. */
  private piece(text: string, afterStep: number): StreamResponse {
    const append = this.pieceAfter === afterStep;
    this.pieceAfter = afterStep;
    const parts: ContentPart[] = [textPart(text)];
    return chunk(this.path.current, artifact(parts), { append, last: false });
  }
}

function updatesOf(run: Run): StreamResponse[] {
  const answer = isFinal(run.state) ? artifactsOf(run) : [];
  return [...answer.map((one) => chunk(run, one, { append: false, last: true })), statusUpdate(run)];
}

function chunk(
  { id: taskId, conversationId: contextId }: Run,
  one: TaskArtifactUpdateEvent['artifact'],
  { append, last: lastChunk }: { append: boolean; last: boolean },
): StreamResponse {
  const value = { taskId, contextId, artifact: one, append, lastChunk, metadata: undefined };
  return { payload: { $case: 'artifactUpdate', value } };
}
