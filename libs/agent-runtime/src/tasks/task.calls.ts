import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Database, Loop, Periodic, StopsIn } from '#rollcall/platform';
import { RunChannel } from '../runs/observe/run.channel.js';
import type { NewTask, TaskProgress, TaskReport } from './task.js';
import { AgentTaskStore, type ClosedTask } from './task.store.js';

/** What a run learns about its task. `closed`: the run does not need it any more. `lost`: nobody will report a result. */
export type TaskEvent =
  TaskProgress | { readonly type: 'reported'; readonly report: TaskReport } | { readonly type: End };
type End = 'closed' | 'lost';

/** Where a call is whose run stops waiting. */
interface CallState {
  /** Whether another replica may continue to wait for the result. */
  readonly isOpen: boolean;
  /** Whether an agent has worked on it. */
  readonly wasTaken: boolean;
  readonly report?: TaskReport;
}

/** The longest time until a result, or the end of a registration, is noticed if no message reports it. */
const CHECK_EVERY_MS = 1_000;
const IDLE_MS = 60_000;
const MAX_UNREAD = 1_000;

/** A run that waits for its task. */
export class TaskWait {
  private readonly events: TaskEvent[] = [];
  private wake?: () => void;

  constructor(private readonly onClose: (wait: TaskWait) => void) {}

  /** Progress that nobody reads is dropped. */
  push(event: TaskEvent): void {
    if (isProgress(event) && this.events.length >= MAX_UNREAD) return;
    this.events.push(event);
    this.wake?.();
  }

  /** Returns undefined when the signal is aborted. */
  async next(signal: AbortSignal): Promise<TaskEvent | undefined> {
    if (this.events.length === 0 && !signal.aborted) {
      const woken = Promise.withResolvers<void>();
      const wake = (): void => woken.resolve();
      this.wake = wake;
      signal.addEventListener('abort', wake, { once: true });
      await woken.promise;
      signal.removeEventListener('abort', wake);
      this.wake = undefined;
    }
    return signal.aborted ? undefined : this.events.shift();
  }

  close(): void {
    this.onClose(this);
  }
}

/**
 * The side of the runs: it stores their tasks, and waits for the results. A message reports a result, from any replica. Messages can be
 * lost, so one statement per second checks all tasks that runs of this replica wait for; it also finds registrations that have ended, and
 * offers are repeated. If no run waits, there is no statement.
 */
@Injectable()
export class TaskCalls implements OnApplicationBootstrap {
  private readonly waits = new Map<string, Set<TaskWait>>();
  /** Tasks that a message reports. */
  private due = new Set<string>();
  private readonly loop: Loop;

  constructor(
    private readonly db: Database,
    private readonly store: AgentTaskStore,
    private readonly channel: RunChannel,
    faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async () => await this.readDue(),
      everyMs: () => IDLE_MS,
      onError: (error) => faults.report('tasks.results', error),
    });
    channel.onMessage((message) => {
      if (message.type === 'task-ended') this.noteDue(message.callId);
      else if (message.type === 'task-progress')
        this.deliver(message.callId, { type: message.kind, text: message.text });
    });
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  start(): void {
    this.loop.start();
  }

  @StopsIn('writes')
  async stop(): Promise<void> {
    await this.loop.stop();
  }

  /** Adds tasks together with the COMMIT of the open transaction, and then offers them to their agents. */
  offerWithCommit(tasks: readonly NewTask[]): void {
    if (tasks.length === 0) return;
    this.store.insertWithCommit(tasks);
    this.db.afterCommit(() => this.offer(tasks));
  }

  /** The calls of these runs have ended. */
  closeWithCommit(runIds: readonly string[]): void {
    this.store.closeWithCommit(runIds);
  }

  /** Cancels the calls of these runs, in the transaction of the caller. */
  async cancel(runIds: readonly string[], state: 'cancelled' | 'expired' = 'cancelled'): Promise<void> {
    const closed = await this.store.closeRuns(runIds, state);
    if (closed.length > 0) this.db.afterCommit(() => this.announceClosed(closed));
  }

  /** Ends a call whose run stops waiting. Returns undefined if the call has ended before. */
  async withdraw(callId: string, state: 'cancelled' | 'expired'): Promise<CallState | undefined> {
    const closed = await this.store.withdraw(callId, state);
    if (closed) this.announceClosed([closed]);
    return closed && { isOpen: false, wasTaken: closed.wasTaken };
  }

  async stateOf(callId: string): Promise<CallState> {
    const [facts] = await this.store.facts([callId]);
    if (!facts) return { isOpen: false, wasTaken: true };
    const { state, wasTaken, result } = facts;
    return { isOpen: state !== 'cancelled' && state !== 'expired', wasTaken, ...(result && { report: result }) };
  }

  async hasOpen(runId: string): Promise<boolean> {
    return await this.store.hasOpen(runId);
  }

  /** `isKnown`: the task is not new, so its result may be stored already. */
  open(callId: string, isKnown: boolean): TaskWait {
    const waits = this.waits.get(callId) ?? new Set();
    this.waits.set(callId, waits);
    const wait = new TaskWait((closed) => {
      waits.delete(closed);
      if (waits.size === 0 && this.waits.get(callId) === waits) this.waits.delete(callId);
    });
    waits.add(wait);
    if (isKnown) this.noteDue(callId);
    return wait;
  }

  /** A result that is stored. It is not read if its run waits on this replica. */
  reported(callId: string, report: TaskReport): void {
    if (this.waits.has(callId)) this.deliver(callId, { type: 'reported', report });
    else this.channel.send({ type: 'task-ended', callId });
  }

  progressed(callId: string, { type, text }: TaskProgress): void {
    if (this.waits.has(callId)) this.deliver(callId, { type, text });
    else this.channel.sendProgress(callId, type, text);
  }

  /** One pass over all tasks that runs of this replica wait for. */
  @Periodic('tasks.check', CHECK_EVERY_MS)
  async check(): Promise<void> {
    if (this.waits.size > 0) await this.read([...this.waits.keys()]);
  }

  private noteDue(callId: string): void {
    if (!this.waits.has(callId)) return;
    this.due.add(callId);
    this.loop.wake();
  }

  private async readDue(): Promise<void> {
    const due = [...this.due].filter((callId) => this.waits.has(callId));
    this.due = new Set(); // a call that is noted while the others are read is read again
    try {
      if (due.length > 0) await this.read(due);
    } catch (error) {
      for (const callId of due) this.due.add(callId);
      throw error;
    }
  }

  private async read(callIds: readonly string[]): Promise<void> {
    const facts = new Map((await this.store.facts(callIds)).map((one) => [one.callId, one]));
    for (const callId of callIds) {
      const { state = 'lost', result = null } = facts.get(callId) ?? {};
      if (state === 'finished')
        this.deliver(callId, result ? { type: 'reported', report: result } : { type: 'closed' });
      else if (state === 'lost') this.deliver(callId, { type: 'lost' });
      else if (state === 'cancelled' || state === 'expired') this.deliver(callId, { type: 'closed' });
    }
    const orphans = [...facts.values()].filter(({ isOrphaned }) => isOrphaned).map(({ callId }) => callId);
    const reclaimed = orphans.length > 0 ? await this.store.reclaim(orphans) : [];
    for (const { callId, state } of reclaimed) if (state === 'lost') this.deliver(callId, { type: 'lost' });
    this.offer([...facts.values(), ...reclaimed].filter(({ state }) => state === 'offered'));
  }

  private offer(tasks: readonly { readonly agentId: string }[]): void {
    this.channel.sendOffers([...new Set(tasks.map(({ agentId }) => agentId))]);
  }

  private announceClosed(closed: readonly ClosedTask[]): void {
    for (const { callId, agentId, wasTaken } of closed) {
      this.deliver(callId, { type: 'closed' });
      if (wasTaken) this.channel.send({ type: 'task-cancelled', agentId, callId });
    }
  }

  private deliver(callId: string, event: TaskEvent): void {
    this.waits.get(callId)?.forEach((wait) => wait.push(event));
  }
}

function isProgress({ type }: TaskEvent): boolean {
  return type === 'text' || type === 'progress';
}
