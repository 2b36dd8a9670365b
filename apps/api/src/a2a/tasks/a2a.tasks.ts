import { type ListTasksRequest, type ListTasksResponse, type Task, TaskState } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import {
  type ChangedRun,
  type ChangeFilter,
  type ChangePosition,
  type Run,
  type RunMessages,
  isFinal,
  RunFiles,
  RunNotFoundError,
  RunReader,
  type StoredStep,
} from '#rollcall/agent-runtime';
import { runKeyOf, visibleRuns } from '../../runs/run.commands.js';
import { isTaskAt, mayChange } from '../../runs/run.task.js';
import type { IncomingCall } from '../incoming.calls.js';
import { checkHistoryLength } from '../messages/message.js';
import { fitting } from '../../http/page.js';
import { fileArtifact, runsIn, TASK_STATES, toA2aTask, toListedTask } from './task.mapper.js';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 100;
/** A task with larger files would be too large for many clients. GET /v1/runs/{id}/files returns all. */
const FILE_LIMITS = { files: 50, bytes: 1_048_576 };
/** The tasks of a list are counted only up to this number. */
const MAX_COUNTED = 10_000;

const FORMAT = /^tasks:(\d{1,17}):(\d{1,18})$/;

/** The run that a message has started or continued. */
export interface SentMessage {
  readonly id: string;
  /** What is known without a read: a run that has just begun, and its only message. */
  readonly known?: RunMessages;
}

/**
 * Reads the tasks that a caller sees at one agent (see `visibleRuns`). Any other task does not exist for the caller.
 */
@Injectable()
export class A2aTasks {
  constructor(
    private readonly reader: RunReader,
    private readonly files: RunFiles,
  ) {}

  /** Rejects with RUN_NOT_FOUND if the run does not exist or the caller may not see it. */
  async get(call: IncomingCall, id: string): Promise<Run> {
    const run = await this.reader.get(runKeyOf(call.caller, id));
    if (!isTaskAt(run, call.agent.agentId ?? undefined)) throw new RunNotFoundError(id);
    return run;
  }

  /** Like `get`, but only for a run that the caller may change: it started the run, or has `runs:manage`. */
  async getOwn(call: IncomingCall, id: string): Promise<Run> {
    const run = await this.get(call, id);
    if (!mayChange(run, call.caller)) throw new RunNotFoundError(id);
    return run;
  }

  /** The task of a run that the caller has just started or continued. Waits until it is finished or waits for its caller. */
  async settled(call: IncomingCall, { id, known }: SentMessage, historyLength?: number): Promise<Task> {
    return await this.after(call, { id, known }, { waitMs: Infinity, historyLength });
  }

  /** The task of a run that the caller has just started or continued, as it is now. */
  async current(call: IncomingCall, sent: SentMessage, historyLength?: number): Promise<Task> {
    return await this.after(call, sent, { waitMs: 0, historyLength });
  }

  async task(run: Run, historyLength?: number): Promise<Task> {
    checkHistoryLength(historyLength);
    const messages = historyLength === 0 ? [] : await this.reader.messages([run.id]);
    return await this.withFiles(run, toA2aTask(run, messages, { historyLength }));
  }

  private async after(
    call: IncomingCall,
    { id, known }: SentMessage,
    { waitMs, historyLength }: { waitMs: number; historyLength?: number },
  ): Promise<Task> {
    const options = { waitMs, signal: call.signal, ...(known && { known }) };
    const { run, messages } = await this.reader.waitWithMessages(runKeyOf(call.caller, id), options);
    return await this.withFiles(run, toA2aTask(run, messages, { historyLength }));
  }

  /** The files in the workspace of a finished run are artifacts, after its answer. */
  private async withFiles(run: Run, task: Task): Promise<Task> {
    if (!isFinal(run.state)) return task;
    const files = await this.files.contentsOf(run, FILE_LIMITS);
    return files.length === 0 ? task : { ...task, artifacts: [...task.artifacts, ...files.map(fileArtifact)] };
  }

  /** The tasks have previews of their contents: at most the first message, and the beginning of each text. */
  async list(call: IncomingCall, params: ListTasksRequest): Promise<ListTasksResponse> {
    const { pageSize = DEFAULT_PAGE, pageToken, includeArtifacts = false, historyLength = 0 } = params;
    checkHistoryLength(historyLength);
    if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > MAX_PAGE)
      throw new RequestMalformedError(`pageSize must be a whole number from 1 to ${MAX_PAGE}.`);
    const filter = filterOf(call, params);
    const found = await this.reader.listByChange(filter, pageSize + 1, readPageToken(pageToken));
    const runs = found.slice(0, pageSize);
    const messages = await this.messagesOf(runs, historyLength);
    const tasks = fitting(runs, (run) => toListedTask(run, messages.get(run.id) ?? [], { includeArtifacts }));
    const last = found.length > tasks.length ? runs[tasks.length - 1] : undefined;
    return {
      tasks,
      nextPageToken: last ? toPageToken(last.position) : '',
      pageSize,
      totalSize: await this.reader.countByChange(filter, MAX_COUNTED),
    };
  }

  private async messagesOf(runs: readonly ChangedRun[], historyLength: number): Promise<Map<string, StoredStep[]>> {
    if (historyLength === 0) return new Map();
    const messages = await this.reader.openingMessages(runs.map(({ id }) => id));
    return Map.groupBy(messages, ({ runId }) => runId);
  }
}

function filterOf({ caller, agent }: IncomingCall, params: ListTasksRequest): ChangeFilter {
  const { contextId, status, statusTimestampAfter: after } = params;
  if (after && Number.isNaN(Date.parse(after)))
    throw new RequestMalformedError('statusTimestampAfter must be a time such as 2026-02-24T10:00:00.000Z.');
  const states = status === TaskState.TASK_STATE_UNSPECIFIED ? {} : runsIn(status);
  if (!states) throw new RequestMalformedError(`status must be one of ${TASK_STATES.join(', ')}.`);
  return {
    ...visibleRuns(caller),
    ...states,
    ...(agent.agentId !== null && { agentId: agent.agentId }),
    ...(contextId && { conversationId: contextId }),
    ...(after && { after: new Date(after).toISOString() }),
  };
}

function toPageToken({ at, seq }: ChangePosition): string {
  return Buffer.from(`tasks:${at}:${seq}`).toString('base64url');
}

/** A forged token only selects another position in the list of the caller. */
function readPageToken(token: string): ChangePosition | undefined {
  if (token === '') return undefined;
  const [, at, seq] = FORMAT.exec(Buffer.from(token, 'base64url').toString('utf8')) ?? [];
  if (at !== undefined && seq !== undefined) return { at, seq };
  throw invalidPageToken();
}

export function invalidPageToken(): RequestMalformedError {
  return new RequestMalformedError('Send a nextPageToken of this list unchanged as pageToken, or leave pageToken out.');
}
