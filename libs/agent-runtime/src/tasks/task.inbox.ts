import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Database, DatabaseBusyError, GroupCommit, isOutage, StopsIn } from '#rollcall/platform';
import { AgentsService, type LeaseCredential } from '#rollcall/registry';
import { RunChannel } from '../runs/observe/run.channel.js';
import { inputHashOf } from '../tools/input.hash.js';
import { TaskCalls } from './task.calls.js';
import {
  AgentNotPullError,
  TaskCancelledError,
  TaskFinishedError,
  TaskNotFoundError,
  TaskNotHeldError,
  TaskTooLateError,
} from './task.errors.js';
import type { TakeRequest, TaskDelivery, TaskProgress, TaskReport } from './task.js';
import { AgentTaskStore, type ReportRequest, type TaskFacts } from './task.store.js';

type Failed = { readonly error: unknown };
type Taken = Failed | { readonly delivery?: TaskDelivery; readonly work?: string };
type Stored = Failed | { readonly isStored: boolean };

/** An agent that waits for tasks on this replica. */
export interface Taker {
  readonly agentId: string;
  /** A task may be offered. */
  wake(): void;
  /** An operator or a caller has cancelled a task that the agent has taken. */
  cancelled?(callId: string): void;
}

export interface LongTake extends TakeRequest {
  readonly waitMs: number;
  /** Aborted when the agent has closed the connection. */
  readonly signal: AbortSignal;
}

const MAX_BATCH = 256;
const NOTHING: TaskDelivery = { tasks: [], cancelled: [] };
/** For how long a heartbeat reports that a task was cancelled, and for how many tasks. */
const NOTICE_MS = 120_000;
const MAX_NOTICES = 10_000;

/**
 * The side of the agents: they take tasks, report progress and report results, at any replica. An agent that waits is only an entry in the
 * memory of the replica; one message wakes it. Concurrent requests of many agents share a statement, and a request is answered after
 * the commit.
 */
@Injectable()
export class TaskInbox implements OnModuleDestroy {
  private readonly takers = new Map<string, Set<Taker>>();
  /** The time at which tasks were cancelled, in milliseconds of `performance.now`, by agent and call. */
  private readonly notices = new Map<string, Map<string, number>>();
  private noticeCount = 0;
  private isStopping = false;
  private readonly takes: GroupCommit<TakeRequest, Taken>;
  private readonly reports: GroupCommit<ReportRequest, Stored>;
  private readonly checks: GroupCommit<Pick<ReportRequest, 'credential' | 'callId'>, Stored>;

  constructor(
    db: Database,
    private readonly store: AgentTaskStore,
    private readonly calls: TaskCalls,
    private readonly agents: AgentsService,
    channel: RunChannel,
  ) {
    const failures = {
      maxBatch: MAX_BATCH,
      failure: (error: unknown): Failed => ({ error }),
      failsAll: isOutage,
      mayBeOneItem: (error: unknown): boolean => !isOutage(error),
    };
    this.takes = new GroupCommit<TakeRequest, Taken>(db, {
      ...failures,
      name: 'task-takes',
      keyOf: ({ credential }) => credential.agentId,
      commit: async (batch) => {
        const taken = await store.take(batch);
        return batch.map((_, place) => {
          const { work, ...delivery } = taken.get(place) ?? {};
          return work === undefined ? {} : { work, delivery: delivery as TaskDelivery };
        });
      },
    });
    this.reports = new GroupCommit<ReportRequest, Stored>(db, {
      ...failures,
      name: 'task-reports',
      keyOf: ({ callId }) => callId,
      commit: async (batch) => toStored(batch, await store.report(batch)),
    });
    this.checks = new GroupCommit<Pick<ReportRequest, 'credential' | 'callId'>, Stored>(db, {
      ...failures,
      name: 'task-checks',
      commit: async (batch) => toStored(batch, await store.heldBy(batch)),
    });
    channel.onMessage((message) => {
      if (message.type === 'tasks-offered') message.agentIds.forEach((agentId) => this.wake(agentId));
      else if (message.type === 'task-cancelled') this.onCancelled(message.agentId, message.callId);
    });
    channel.onConnected(() => [...this.takers.keys()].forEach((agentId) => this.wake(agentId)));
  }

  /** Requests that wait are answered, because they would delay the end of the process. */
  onModuleDestroy(): void {
    this.isStopping = true;
    [...this.takers.keys()].forEach((agentId) => this.wake(agentId));
  }

  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all([this.takes.idle(), this.reports.idle(), this.checks.idle()]);
  }

  /** Returns a function that removes the taker. */
  add(taker: Taker): () => void {
    const { agentId } = taker;
    const takers = this.takers.get(agentId) ?? new Set();
    this.takers.set(agentId, takers.add(taker));
    return () => {
      takers.delete(taker);
      if (takers.size === 0 && this.takers.get(agentId) === takers) this.takers.delete(agentId);
    };
  }

  /** Takes the tasks that are offered now. Rejects if the credential does not belong to the current registration of a pull agent. */
  async take(request: TakeRequest): Promise<TaskDelivery> {
    const taken = await this.takes.run(request);
    if ('error' in taken) throw taken.error;
    if (taken.work === 'pull') return taken.delivery ?? NOTHING;
    await this.agents.check(request.credential);
    if (taken.work === undefined) throw new DatabaseBusyError('the agent registers again at this moment');
    throw new AgentNotPullError(request.credential.agentId);
  }

  /** Like `take`, but waits until there is a task, the time is over, or the agent has closed the connection. */
  async takeLater({ waitMs, signal, ...request }: LongTake): Promise<TaskDelivery> {
    const until = performance.now() + waitMs;
    let woken = Promise.withResolvers<void>();
    const wake = (): void => woken.resolve();
    const remove = this.add({ agentId: request.credential.agentId, wake, cancelled: wake });
    signal.addEventListener('abort', wake, { once: true });
    try {
      for (;;) {
        const delivery = await this.take(request);
        if (signal.aborted) return await this.undelivered(request.credential, delivery);
        const leftMs = until - performance.now();
        if (delivery.tasks.length > 0 || delivery.cancelled.length > 0 || leftMs <= 0 || this.isStopping)
          return delivery;
        const timer = setTimeout(wake, leftMs);
        await woken.promise;
        clearTimeout(timer);
        if (performance.now() >= until || this.isStopping || signal.aborted) return NOTHING;
        woken = Promise.withResolvers();
      }
    } finally {
      signal.removeEventListener('abort', wake);
      remove();
    }
  }

  /** Offers tasks again that could not be sent to the agent. */
  async undelivered(credential: LeaseCredential, { tasks }: TaskDelivery): Promise<TaskDelivery> {
    if (tasks.length > 0)
      await this.store.giveBack(
        credential,
        tasks.map(({ callId }) => callId),
      );
    this.wake(credential.agentId);
    return NOTHING;
  }

  /** Stores the result of a task. A repetition of the same result is accepted. */
  async report(credential: LeaseCredential, callId: string, report: TaskReport): Promise<void> {
    const request = { credential, callId, report, hash: inputHashOf(report) };
    const stored = await this.reports.run(request);
    if ('error' in stored) throw stored.error;
    if (stored.isStored) return this.calls.reported(callId, report);
    const facts = await this.factsFor(credential, callId);
    if (facts.state === 'finished' && facts.resultHash === request.hash) return;
    throw rejectionOf(callId, facts);
  }

  /** Passes on what the agent reports while it executes a task. */
  async progress(credential: LeaseCredential, callId: string, progress: TaskProgress): Promise<void> {
    const held = await this.checks.run({ credential, callId });
    if ('error' in held) throw held.error;
    if (!held.isStored) throw rejectionOf(callId, await this.factsFor(credential, callId));
    this.calls.progressed(callId, progress);
  }

  /** The tasks of the agent that were cancelled lately. A heartbeat reports them. */
  cancelledLately(agentId: string): readonly string[] {
    const notices = this.notices.get(agentId);
    if (!notices) return NOTHING.cancelled;
    const since = performance.now() - NOTICE_MS;
    for (const [callId, at] of notices) {
      if (at > since) break;
      notices.delete(callId);
      this.noticeCount -= 1;
    }
    if (notices.size === 0) this.notices.delete(agentId);
    return [...notices.keys()];
  }

  private wake(agentId: string): void {
    this.takers.get(agentId)?.forEach((taker) => taker.wake());
  }

  private onCancelled(agentId: string, callId: string): void {
    const notices = this.notices.get(agentId) ?? new Map<string, number>();
    this.notices.delete(agentId); // so that the agent with the newest notice is the last in the map
    this.notices.set(agentId, notices.set(callId, performance.now()));
    this.noticeCount += 1;
    this.takers.get(agentId)?.forEach((taker) => taker.cancelled?.(callId));
    const [oldest] = this.notices;
    if (this.noticeCount <= MAX_NOTICES || !oldest) return;
    this.notices.delete(oldest[0]);
    this.noticeCount -= oldest[1].size;
  }

  /** The task, if it belongs to the agent. Rejects if the credential does not belong to the current registration. */
  private async factsFor(credential: LeaseCredential, callId: string): Promise<TaskFacts> {
    await this.agents.check(credential);
    const [facts] = await this.store.facts([callId]);
    if (facts?.agentId !== credential.agentId) throw new TaskNotFoundError(callId);
    return facts;
  }
}

function toStored(batch: readonly unknown[], places: ReadonlySet<number>): Stored[] {
  return batch.map((_, place) => ({ isStored: places.has(place) }));
}

/** Why a registration cannot report about a task. */
function rejectionOf(callId: string, { state }: TaskFacts): Error {
  if (state === 'finished') return new TaskFinishedError(callId);
  if (state === 'cancelled') return new TaskCancelledError(callId);
  if (state === 'expired') return new TaskTooLateError(callId);
  return new TaskNotHeldError(callId);
}
