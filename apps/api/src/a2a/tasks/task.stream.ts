import type { StreamResponse, TaskArtifactUpdateEvent } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import {
  continuesAnswer,
  isFinal,
  type Run,
  RunFeed,
  type RunStatus,
  type RunStreamEvent,
  type StoredStep,
  type WaitingFor,
} from '#rollcall/agent-runtime';
import { type ContentPart, textPart } from '#rollcall/providers';
import { runKeyOf } from '../../runs/run.commands.js';
import type { IncomingCall } from '../incoming.calls.js';
import { agentMessage, artifact, artifactsOf, statusUpdate, toA2aTask, toStatus } from './task.mapper.js';

type LiveEvent = Exclude<RunStreamEvent, { type: 'step' | 'state' }>;

/** The states of a run from its question to the continued work. */
const PATH: readonly RunStatus[] = ['waiting', 'queued', 'running'];

/**
 * The events of a task, on any replica: first the task as it is, then each change once and in order. While the answer is
 * generated, each piece of it is sent as a chunk of the artifact; the last chunk replaces all earlier chunks.
 */
@Injectable()
export class TaskStream {
  constructor(private readonly feed: RunFeed) {}

  /** The stream ends with the task. With `untilInput`, it also ends when the run asks its caller a question. */
  async *of(
    call: IncomingCall,
    { id }: Pick<Run, 'id'>,
    untilInput: boolean,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const messages: StoredStep[] = [];
    let updates: TaskUpdates | undefined;
    for await (const event of this.feed.watch(runKeyOf(call.caller, id), 0, call.signal)) {
      if (updates) yield* updates.of(event);
      else if (event.type === 'step' && event.stored.step.type === 'message') messages.push(event.stored);
      else if (event.type === 'state') {
        updates = new TaskUpdates(event.run);
        yield { payload: { $case: 'task', value: toA2aTask(event.run, messages) } };
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

  /** A step replaces the pieces before it, unless it continues the answer. */
  private afterStep(stored: StoredStep): StreamResponse[] {
    if (!continuesAnswer(stored.step)) this.early = this.early.filter(({ afterStep }) => afterStep >= stored.seq);
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

/**
 * Lists all states of a run in order. A replica reads the state of a run after a change. So it may miss a short state that another
 * replica reads. The steps and the number of attempts show which states were in between, so all subscribers receive the same changes.
 */
export class TaskPath {
  /** `run` is the state that the subscriber knows. */
  constructor(private run: Run) {}

  get current(): Run {
    return this.run;
  }

  /** A message or a decision ends a wait, even if the subscriber has not received that wait. */
  afterStep({ step, at }: StoredStep): Run[] {
    const { state } = this.run;
    if (step.type === 'message') return this.waited('input', at);
    return step.type === 'approval-decided' && state !== 'queued' ? this.waited('approval', at) : [];
  }

  /** Returns an empty list if another replica continues the run in the same state, or if a step has already shown a later state. */
  afterState(now: Run): Run[] {
    const before = this.run;
    if (now.stateAt < before.stateAt) return [];
    this.run = now;
    const isSameState = now.state === before.state && (now.state !== 'waiting' || now.attempts === before.attempts);
    const isSame = isSameState && isAuthorized(now) === isAuthorized(before);
    return isSame ? [] : [...unseen(before, now).map((state) => past(before, state)), now];
  }

  private waited(waitingFor: WaitingFor, at: string): Run[] {
    const before = this.run;
    const wait = { ...past(before, 'waiting'), stateAt: at, waitingFor };
    const isSeen = before.state === 'waiting';
    const states = isSeen ? [] : [...(before.state === 'queued' ? [past(before, 'running')] : []), wait];
    this.run = { ...past(before, 'queued'), stateAt: at };
    return [...states, this.run];
  }
}

function isAuthorized({ waitingFor }: Run): boolean {
  return waitingFor !== 'authorization';
}

function unseen(before: Run, now: Run): RunStatus[] {
  if (isFinal(now.state) && now.attempts === before.attempts) return [];
  const end = PATH.indexOf(now.state);
  return PATH.slice(PATH.indexOf(before.state) + 1, end > 0 ? end : PATH.length);
}

/** The result of the run at that time is not known. */
function past(run: Run, state: RunStatus): Run {
  return { ...run, state, waitingFor: null, result: null };
}
