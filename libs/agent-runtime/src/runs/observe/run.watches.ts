import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import type { Run } from '../run.js';
import { isFinalOrWaiting } from '../run.status.js';
import type { LiveEvent } from '../run.step.js';
import { RunChangesStore } from '../store/run-changes.store.js';
import { RunChannel, type RunMessage } from './run.channel.js';

/** What an observer wants to know: everything, or only that the run is finished or waits for its caller. */
export type Observed = 'steps' | 'ends';

/** A run that is observed on this replica. */
class ObservedRun {
  readonly watches = new Set<RunWatch>();
  announcedAt = -Infinity;
  /** The version at the last check. */
  version?: string;
}

type Publication = Extract<RunMessage, { type: 'changed' | 'stepped' | 'live' }>;

/** How long other replicas send the events of a run after a request for them. */
const WATCHED_MS = 30_000;
const ANNOUNCE_EVERY_MS = 10_000;
/** The maximum number of runs that are remembered because another replica follows them, or because they have ended. */
const MAX_REMEMBERED = 10_000;
/** The longest time until a change is noticed if its message was lost. */
const CHECK_EVERY_MS = 1_000;
const MAX_EVENTS = 1_000;

/**
 * The observers of runs on this replica, and the runs that other replicas follow. Observers learn of changes by messages: an end is
 * announced to every replica, all other changes only to the replicas that follow the run. Messages can be lost, so one statement per
 * second checks all observed runs, however many observers they have. Without observers, there is no statement.
 */
@Injectable()
export class RunWatches implements OnModuleDestroy {
  /** Whether the replica is stopping. Observers then continue on another replica. */
  isStopping = false;
  private readonly local = new Map<string, ObservedRun>();
  /** When other replicas stop following a run, in milliseconds of `performance.now`. */
  private readonly remote = new Map<string, number>();
  /** The runs that ended last, on any replica. */
  private readonly ends = new Set<string>();

  constructor(
    private readonly channel: RunChannel,
    private readonly store: RunChangesStore,
  ) {
    channel.onMessage((message, isOwn) => this.receive(message, isOwn));
  }

  /** Ends all waits, because they would delay the end of the process. */
  onModuleDestroy(): void {
    this.isStopping = true;
    for (const { watches } of this.local.values()) watches.forEach((watch) => watch.wake());
  }

  /** Observes a run. The caller reads the run after this call, so that it misses no change, and closes the watch at the end. */
  open(runId: string, observed: Observed): RunWatch {
    const run = this.local.get(runId) ?? new ObservedRun();
    this.local.set(runId, run);
    const watch = new RunWatch(observed, (closed) => {
      run.watches.delete(closed);
      if (run.watches.size === 0 && this.local.get(runId) === run) this.local.delete(runId);
    });
    run.watches.add(watch);
    this.announce(runId, run);
    return watch;
  }

  /** Whether the run may have ended lately. If not, a run that was started or continued on this replica is still in progress. */
  mayHaveEnded(runId: string): boolean {
    return this.ends.has(runId);
  }

  /** The run has another state, in which it is in progress. */
  changed(runId: string): void {
    this.publish({ type: 'changed', runId });
  }

  /**
   * The run is finished or waits for its caller. Call this after the commit, with the run as a read would return it: the observers on
   * this replica then do not read it. `RunChannel.announcement` informs the other replicas.
   */
  ended(runId: string, run?: Run): void {
    this.ends.delete(runId); // so that the newest entry is the last in the set
    this.ends.add(runId);
    const [oldest] = this.ends;
    if (this.ends.size > MAX_REMEMBERED && oldest !== undefined) this.ends.delete(oldest);
    this.local.get(runId)?.watches.forEach((watch) => watch.end(run));
  }

  /** The run waits for an authorization, or no longer waits for it. Some callers that wait for the end wait for this as well. */
  waits(runId: string): void {
    this.channel.send({ type: 'ended', runIds: [runId] });
  }

  /** The run has a new step. */
  stepped(runId: string): void {
    this.publish({ type: 'stepped', runId });
  }

  live(runId: string, event: LiveEvent): void {
    this.publish({ type: 'live', runId, event });
  }

  /** Wakes the observers of the runs that have changed since the last check, and asks the other replicas for the next events. */
  @Periodic('runs.check_observed', CHECK_EVERY_MS)
  async check(): Promise<void> {
    for (const [runId, run] of this.local) this.announce(runId, run);
    if (this.local.size === 0) return;
    const checked = [...this.local];
    const found = await this.store.versions(checked.map(([runId]) => runId));
    for (const [runId, run] of checked) {
      const { version = 'deleted', state } = found.get(runId) ?? {};
      if (run.version === version) continue;
      run.version = version;
      const isEnd = state === undefined || isFinalOrWaiting(state);
      run.watches.forEach((watch) => (isEnd ? watch.end() : watch.change()));
    }
  }

  /** Asks the other replicas for the steps of the run. They report its end without being asked. */
  private announce(runId: string, run: ObservedRun): void {
    const now = performance.now();
    if (now - run.announcedAt < ANNOUNCE_EVERY_MS) return;
    if (![...run.watches].some(({ observed }) => observed === 'steps')) return;
    run.announcedAt = now;
    this.channel.send({ type: 'watched', runId });
  }

  private publish(message: Publication): void {
    if (this.isWatchedElsewhere(message.runId)) this.channel.send(message);
    else this.receive(message, true);
  }

  private isWatchedElsewhere(runId: string): boolean {
    const until = this.remote.get(runId);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.remote.delete(runId);
    return false;
  }

  private receive(message: RunMessage, isOwn: boolean): void {
    if (message.type === 'watched' && !isOwn) this.noteRemote(message.runId);
    else if (message.type === 'ended') message.runIds.forEach((runId) => this.ended(runId));
    else if (message.type === 'changed' || message.type === 'stepped')
      this.local.get(message.runId)?.watches.forEach((watch) => watch.change());
    else if (message.type === 'live')
      this.local.get(message.runId)?.watches.forEach((watch) => watch.add(message.event));
  }

  private noteRemote(runId: string): void {
    this.remote.delete(runId); // so that the newest entry is the last in the map
    this.remote.set(runId, performance.now() + WATCHED_MS);
    const [oldest] = this.remote.keys();
    if (this.remote.size > MAX_REMEMBERED && oldest !== undefined) this.remote.delete(oldest);
  }
}

/** One observer of a run. It collects what happens until its owner reads it. */
class RunWatch {
  private events: LiveEvent[] = [];
  private endedRun?: Run;
  private hasChanged = false;
  private resolve?: () => void;

  constructor(
    readonly observed: Observed,
    private readonly onClose: (watch: RunWatch) => void,
  ) {}

  /** The run has a new step, or another state. */
  change(): void {
    if (this.observed === 'steps') this.wake();
  }

  /** The run is finished or waits for its caller. `run` is the run as it is now, if it is known. */
  end(run?: Run): void {
    this.endedRun = run;
    this.wake();
  }

  wake(): void {
    this.hasChanged = true;
    this.resolve?.();
  }

  add(event: LiveEvent): void {
    if (this.observed === 'ends' || this.events.length >= MAX_EVENTS) return;
    this.events.push(event);
    this.resolve?.();
  }

  /** Waits for a change, for a live event, for the timeout, or for the abort. Returns whether the run may have changed. */
  async next(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    let isOver = false;
    if (!this.hasChanged && this.events.length === 0 && !signal?.aborted) {
      const woken = Promise.withResolvers<void>();
      const end = (): void => {
        isOver = true;
        woken.resolve();
      };
      const timer = timeoutMs === Infinity ? undefined : setTimeout(end, timeoutMs);
      this.resolve = woken.resolve;
      signal?.addEventListener('abort', end, { once: true });
      await woken.promise;
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      this.resolve = undefined;
    }
    const mayHaveChanged = this.hasChanged || isOver;
    this.hasChanged = false;
    return mayHaveChanged;
  }

  /** The live events since the last call. */
  take(): readonly LiveEvent[] {
    const taken = this.events;
    this.events = [];
    return taken;
  }

  /** The run as it ended since the last call; undefined if it has to be read. */
  takeEnded(): Run | undefined {
    const run = this.endedRun;
    this.endedRun = undefined;
    return run;
  }

  close(): void {
    this.onClose(this);
    this.resolve?.();
  }
}
