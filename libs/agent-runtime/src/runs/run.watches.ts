import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { RunChannel, type RunMessage } from './run.channel.js';
import type { LiveEvent } from './run.live.js';
import { RunWatch } from './run.watch.js';

/** How long other replicas send live events after a request for them. */
const WATCHED_MS = 30_000;
const MAX_WATCHED = 10_000;

/** The observers of runs on this replica, and the runs that other replicas observe. */
@Injectable()
export class RunWatches implements OnModuleDestroy {
  /** Whether the replica stops: observers then continue on another one. */
  isStopping = false;
  private readonly local = new Map<string, Set<RunWatch>>();
  /** When other replicas stop observing a run, in milliseconds of `performance.now`. */
  private readonly remote = new Map<string, number>();

  constructor(private readonly channel: RunChannel) {
    channel.onMessage((message, isOwn) => this.receive(message, isOwn));
  }

  /** Ends all waits, because they would delay the end of the process. */
  onModuleDestroy(): void {
    this.isStopping = true;
    for (const watches of this.local.values()) for (const watch of watches) watch.change();
  }

  /** Observes a run. The caller closes the watch. */
  open(runId: string): RunWatch {
    const watches = this.local.get(runId) ?? new Set();
    this.local.set(runId, watches);
    const watch = new RunWatch({
      announce: () => this.channel.send({ type: 'watched', runId }),
      onClose: () => {
        watches.delete(watch);
        if (watches.size === 0 && this.local.get(runId) === watches) this.local.delete(runId);
      },
    });
    watches.add(watch);
    return watch;
  }

  /** The run has a new step or another state. */
  changed(runId: string): void {
    this.publish({ type: 'changed', runId });
  }

  live(runId: string, event: LiveEvent): void {
    this.publish({ type: 'live', runId, event });
  }

  /** Whether anybody observes the run. Without observers, its answers need not be streamed. */
  isWatched(runId: string): boolean {
    return this.local.has(runId) || this.isWatchedElsewhere(runId);
  }

  private publish(message: Extract<RunMessage, { runId: string }>): void {
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
    else if (message.type === 'changed') this.local.get(message.runId)?.forEach((watch) => watch.change());
    else if (message.type === 'live') this.local.get(message.runId)?.forEach((watch) => watch.add(message.event));
  }

  private noteRemote(runId: string): void {
    this.remote.delete(runId); // the last position in the map is that of the newest
    this.remote.set(runId, performance.now() + WATCHED_MS);
    const [oldest] = this.remote.keys();
    if (this.remote.size > MAX_WATCHED && oldest !== undefined) this.remote.delete(oldest);
  }
}
