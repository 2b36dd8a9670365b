import { type StreamResponse, type TaskArtifactUpdateEvent, type TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { isFinal, type Run, RunFeed, type RunStreamEvent, type StoredStep } from '#rollcall/agent-runtime';
import { type ContentPart, textPart } from '#rollcall/providers';
import { type A2aCall, keyOf } from './a2a.call.js';
import { agentMessage, artifact, artifactsOf, factsOf, toStatus, toTask } from './task.mapper.js';

/**
 * The events of a task, on any replica: first the task as it is, then each change once and in order. Pieces of the answer are chunks
 * of the artifact while they are generated; the last chunk replaces them all.
 */
@Injectable()
export class TaskStream {
  constructor(private readonly feed: RunFeed) {}

  /** Ends with the task. With `untilInput`, it ends also when the run asks its caller a question. */
  async *of(call: A2aCall, { id }: Run, untilInput: boolean): AsyncGenerator<StreamResponse, void, undefined> {
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

/** Converts the events of a run after the snapshot. */
class TaskUpdates {
  /** The step before the last piece; undefined before the first piece. */
  private pieceAfter?: number;

  constructor(private run: Run) {}

  of(event: RunStreamEvent): StreamResponse[] {
    if (event.type === 'state') return this.ofState(event.run);
    if (event.type === 'text') return [this.piece(event.text, event.afterStep)];
    if (event.type !== 'progress') return [];
    const message = agentMessage(this.run, `${this.run.id}-progress-${event.afterStep}`, [textPart(event.text)]);
    return [status(this.run, { ...toStatus(this.run), message })];
  }

  private ofState(run: Run): StreamResponse[] {
    this.run = run;
    const answer = isFinal(run.state) ? artifactsOf(run) : [];
    return [...answer.map((one) => chunk(run, one, { append: false, last: true })), status(run, toStatus(run))];
  }

  /** The text of a later turn replaces that of the turn before. */
  private piece(text: string, afterStep: number): StreamResponse {
    const append = this.pieceAfter === afterStep;
    this.pieceAfter = afterStep;
    const parts: ContentPart[] = [textPart(text)];
    return chunk(this.run, artifact(parts), { append, last: false });
  }
}

function chunk(
  { id: taskId, conversationId: contextId }: Run,
  one: TaskArtifactUpdateEvent['artifact'],
  { append, last: lastChunk }: { append: boolean; last: boolean },
): StreamResponse {
  const value = { taskId, contextId, artifact: one, append, lastChunk, metadata: undefined };
  return { payload: { $case: 'artifactUpdate', value } };
}

function status(run: Run, value: TaskStatusUpdateEvent['status']): StreamResponse {
  const { id: taskId, conversationId: contextId } = run;
  return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status: value, metadata: factsOf(run) } } };
}
