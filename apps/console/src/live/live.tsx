import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { type CloudEventView, eventName } from '#rollcall/client';
import { type Caller, eventsAddress, isSignedOut, useCaller } from '../session/session.js';

export type LiveState = 'connecting' | 'live' | 'paused' | 'off';

interface LiveSnapshot {
  readonly state: LiveState;
  /** The newest events first. */
  readonly events: readonly CloudEventView[];
  /** How many events arrived while the page was paused. */
  readonly held: number;
  readonly sequence: string | undefined;
}

interface Frame {
  readonly event: string;
  readonly cursor?: string;
  readonly data?: unknown;
}

/** What is read again after an event, by the first part of its type. The names are the first part of the keys of queries. */
const TOPICS: Record<string, readonly string[]> = {
  agent: ['agents', 'agent', 'summary', 'events'],
  circuit: ['agents', 'agent', 'summary', 'events'],
  budget: ['budgets', 'agent', 'summary', 'usage', 'events'],
  run: ['runs', 'run', 'summary', 'usage', 'events'],
  protection: ['protection', 'summary', 'events'],
  contract: ['contracts', 'contract', 'events'],
  definition: ['definitions', 'definition', 'events'],
};
const OTHERS = ['events'] as const;
/** Twice a second at most. */
const FLUSH_MS = 500;
const KEPT = 50;
/** The server sends a frame at least every 15 seconds. */
const DEAD_AFTER_MS = 45_000;
const MAX_PAUSE_MS = 10_000;

/**
 * The only WebSocket of the tab. It subscribes before queries read, so that no event is missed between the two. An event only marks what is
 * shown as stale; the queries in use are then read again, at most twice a second, and not while the tab is hidden.
 */
export class LiveFeed {
  private readonly listeners = new Set<() => void>();
  private readonly stale = new Set<string>();
  private snapshot: LiveSnapshot = { state: 'connecting', events: [], held: 0, sequence: undefined };
  private socket: WebSocket | undefined;
  private cursor: string | undefined;
  private flushTimer: ReturnType<typeof setTimeout> | undefined;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private deadTimer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private isPaused = false;
  private isStopped = false;

  constructor(
    private readonly caller: Caller,
    private readonly queries: QueryClient,
  ) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): LiveSnapshot => this.snapshot;

  start(): () => void {
    const onVisible = (): void => this.flushSoon();
    document.addEventListener('visibilitychange', onVisible);
    if (this.caller.may('events:read')) void this.connect();
    else this.update({ state: 'off' });
    return () => {
      this.isStopped = true;
      document.removeEventListener('visibilitychange', onVisible);
      for (const timer of [this.flushTimer, this.retryTimer, this.deadTimer]) clearTimeout(timer);
      this.socket?.close();
    };
  }

  /** Holds changes back, or shows what was held back. */
  toggle(): void {
    this.isPaused = !this.isPaused;
    const isOpen = this.socket?.readyState === WebSocket.OPEN;
    this.update({
      state: this.isPaused ? 'paused' : isOpen ? 'live' : 'connecting',
      ...(!this.isPaused && { held: 0 }),
    });
    this.flushSoon();
  }

  private async connect(): Promise<void> {
    try {
      const { ticket } = await this.caller.api.events.createTicket();
      if (this.isStopped) return;
      const socket = new WebSocket(eventsAddress(ticket));
      this.socket = socket;
      socket.addEventListener('open', () => this.send('subscribe', { after: this.cursor ?? 'latest' }));
      socket.addEventListener('message', ({ data }) => this.accept(JSON.parse(String(data)) as Frame));
      socket.addEventListener('close', ({ code }) => this.onClose(code));
      this.expectFrame();
    } catch (error) {
      if (isSignedOut(error)) await this.queries.invalidateQueries({ queryKey: ['me'] });
      else this.retry();
    }
  }

  private send(event: string, data: object): void {
    this.socket?.send(JSON.stringify({ event, data }));
  }

  private accept({ event, cursor, data }: Frame): void {
    this.failures = 0;
    this.expectFrame();
    if (event === 'subscribed') {
      const isFirst = this.cursor === undefined;
      this.cursor ??= (data as { after: string }).after;
      if (isFirst) void this.queries.invalidateQueries();
      if (!this.isPaused) this.update({ state: 'live' });
    }
    if (event === 'position') this.cursor = (data as { cursor: string }).cursor;
    if (event === 'events') {
      this.cursor = cursor ?? this.cursor;
      this.onEvents(data as CloudEventView[]);
    }
  }

  private onEvents(events: readonly CloudEventView[]): void {
    for (const event of events)
      for (const topic of TOPICS[eventName(event).split('.', 1)[0] ?? ''] ?? OTHERS) this.stale.add(topic);
    const { held } = this.snapshot;
    const sequence = events.at(-1)?.sequence;
    if (this.isPaused) return this.update({ held: held + events.length, sequence });
    this.update({ events: [...events.toReversed(), ...this.snapshot.events].slice(0, KEPT), sequence });
    this.flushSoon();
  }

  private onClose(code: number): void {
    if (this.isStopped) return;
    clearTimeout(this.deadTimer);
    if (!this.isPaused) this.update({ state: 'connecting' });
    const isUnusable = code === 4400 || code === 4410;
    if (isUnusable) this.cursor = undefined; // the next subscription begins now, and everything is read again
    if (code === 4401) void this.queries.invalidateQueries({ queryKey: ['me'] });
    this.retry();
  }

  private retry(): void {
    this.failures += 1;
    const pause = Math.min(MAX_PAUSE_MS, 250 * 2 ** this.failures) * (0.5 + Math.random() / 2);
    this.retryTimer = setTimeout(() => void this.connect(), pause);
  }

  private expectFrame(): void {
    clearTimeout(this.deadTimer);
    this.deadTimer = setTimeout(() => this.socket?.close(), DEAD_AFTER_MS);
  }

  private flushSoon(): void {
    if (this.stale.size === 0 || this.isPaused || document.hidden) return;
    this.flushTimer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  private flush(): void {
    this.flushTimer = undefined;
    if (this.isPaused || document.hidden) return;
    const topics = new Set(this.stale);
    this.stale.clear();
    void this.queries.invalidateQueries({
      predicate: ({ queryKey, state }) => topics.has(String(queryKey[0])) && !isLongList(state.data),
    });
  }

  private update(change: Partial<LiveSnapshot>): void {
    this.snapshot = { ...this.snapshot, ...change };
    this.listeners.forEach((listener) => listener());
  }
}

/** A list of many pages is not read again as a whole; its rows on the screen are read again by themselves. */
function isLongList(data: unknown): boolean {
  return ((data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) > 2;
}

const LiveContext = createContext<LiveFeed | undefined>(undefined);

export function LiveProvider({ children }: { children: ReactNode }): ReactNode {
  const caller = useCaller();
  const queries = useQueryClient();
  const [feed, setFeed] = useState(() => new LiveFeed(caller, queries));
  useEffect(() => {
    const started = new LiveFeed(caller, queries);
    setFeed(started);
    return started.start();
  }, [caller, queries]);
  return <LiveContext value={feed}>{children}</LiveContext>;
}

export function useLive(): LiveSnapshot & { toggle: () => void } {
  const feed = useContext(LiveContext);
  if (!feed) throw new Error('there is no live feed');
  const snapshot = useSyncExternalStore(feed.subscribe, feed.get);
  return { ...snapshot, toggle: () => feed.toggle() };
}
