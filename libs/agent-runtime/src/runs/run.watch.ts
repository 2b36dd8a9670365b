import type { LiveEvent } from './run.live.js';

interface Hooks {
  /** Asks the other replicas for the events of the run. */
  announce(): void;
  onClose(): void;
}

const ANNOUNCE_EVERY_MS = 10_000;
const MAX_EVENTS = 1_000;

/** One observer of a run. It collects what happens until its owner reads it. */
export class RunWatch {
  private events: LiveEvent[] = [];
  private hasChanged = false;
  private wake?: () => void;
  private announcedAt = -Infinity;

  constructor(private readonly hooks: Hooks) {}

  change(): void {
    this.hasChanged = true;
    this.wake?.();
  }

  add(event: LiveEvent): void {
    if (this.events.length >= MAX_EVENTS) return;
    this.events.push(event);
    this.wake?.();
  }

  /** Waits for a change, for a live event, for the end of the time, or for the abort. Returns whether the run may have changed. */
  async next(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    this.announce();
    let isOver = false;
    if (!this.hasChanged && this.events.length === 0 && !signal?.aborted) {
      const woken = Promise.withResolvers<void>();
      const end = (): void => {
        isOver = true;
        woken.resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.wake = woken.resolve;
      signal?.addEventListener('abort', end, { once: true });
      await woken.promise;
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      this.wake = undefined;
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

  close(): void {
    this.hooks.onClose();
    this.wake?.();
  }

  private announce(): void {
    const now = performance.now();
    if (now - this.announcedAt < ANNOUNCE_EVERY_MS) return;
    this.announcedAt = now;
    this.hooks.announce();
  }
}
