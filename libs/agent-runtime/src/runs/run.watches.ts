import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import { RunChangesStore } from './run-changes.store.js';
import { RunChannel, type RunMessage } from './run.channel.js';
import type { LiveEvent } from './run.live.js';
import { type Observed, RunWatch } from './run.watch.js';

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
const MAX_WATCHED = 10_000;
/** The longest time until a change is noticed if its message was lost. */
const CHECK_EVERY_MS = 1_000;

/**
 * The observers of runs on this replica, and the runs that other replicas observe. Observers learn of changes by messages. Messages can be
 * lost, so one statement per second checks all observed runs, however many observers they have.
 */
@Injectable()
export class RunWatches implements OnModuleDestroy {
  /** Whether the replica is stopping. Observers then continue on another replica. */
  isStopping = false;
  private readonly local = new Map<string, ObservedRun>();
  /** When other replicas stop observing a run, in milliseconds of `performance.now`. */
  private readonly remote = new Map<string, number>();

  constructor(
    private readonly channel: RunChannel,
    private readonly store: RunChangesStore,
  ) {
    channel.onMessage((message, isOwn) => this.receive(message, isOwn));
  }

  /** Ends all waits, because they would delay the end of the process. */
  onModuleDestroy(): void {
    this.isStopping = true;
    for (const runId of this.local.keys()) this.notify(runId);
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

  /** The run has another state. */
  changed(runId: string): void {
    this.publish({ type: 'changed', runId });
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
    const versions = await this.store.versions(checked.map(([runId]) => runId));
    for (const [runId, run] of checked) {
      const version = versions.get(runId) ?? 'deleted';
      if (run.version !== version) this.notify(runId);
      run.version = version;
    }
  }

  private announce(runId: string, run: ObservedRun): void {
    const now = performance.now();
    if (now - run.announcedAt < ANNOUNCE_EVERY_MS) return;
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
    else if (message.type === 'changed') this.notify(message.runId);
    else if (message.type === 'stepped') this.local.get(message.runId)?.watches.forEach((watch) => watch.step());
    else if (message.type === 'live')
      this.local.get(message.runId)?.watches.forEach((watch) => watch.add(message.event));
  }

  private notify(runId: string): void {
    this.local.get(runId)?.watches.forEach((watch) => watch.change());
  }

  private noteRemote(runId: string): void {
    this.remote.delete(runId); // so that the newest entry is the last in the map
    this.remote.set(runId, performance.now() + WATCHED_MS);
    const [oldest] = this.remote.keys();
    if (this.remote.size > MAX_WATCHED && oldest !== undefined) this.remote.delete(oldest);
  }
}
