import { randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Database, Loop, PgListener, type Statement, StopsIn } from '#rollcall/platform';
import type { LiveEvent } from '../run.step.js';

/** A message between replicas about runs. It may be lost: each receiver finds the same facts in the tables later. */
export type RunMessage =
  /** There may be a run to claim. */
  | { readonly type: 'work' }
  | { readonly type: 'cancelled'; readonly rootId: string }
  /** A replica follows this run, and wants its steps and live events for a limited time. */
  | { readonly type: 'watched'; readonly runId: string }
  /** The state of the run has changed. */
  | { readonly type: 'changed'; readonly runId: string }
  /** The runs are finished, or wait for their callers. `announcement` sends it. */
  | { readonly type: 'ended'; readonly runIds: readonly string[] }
  | { readonly type: 'stepped'; readonly runId: string }
  | { readonly type: 'live'; readonly runId: string; readonly event: LiveEvent }
  /** Tasks of these agents wait. */
  | { readonly type: 'tasks-offered'; readonly agentIds: readonly string[] }
  /** An agent has reported the result of a task. */
  | { readonly type: 'task-ended'; readonly callId: string }
  | { readonly type: 'task-cancelled'; readonly agentId: string; readonly callId: string }
  /** What an agent reports while it executes a task. `part` makes equal reports different messages. */
  | {
      readonly type: 'task-progress';
      readonly callId: string;
      readonly kind: 'text' | 'progress';
      readonly text: string;
      readonly part: number;
    };

type Handler = (message: RunMessage, isOwn: boolean) => void;
type LiveMessage = Extract<RunMessage, { type: 'live' }>;

const CHANNEL = 'rollcall_run';
/** Many messages are sent with one statement, because each NOTIFY takes a lock of the whole server when it commits. */
const PACE_MS = 20;
const IDLE_MS = 60_000;
const MAX_QUEUED = 10_000;
/** A notification has at most 8,000 bytes, and one character needs at most 6 bytes in JSON. */
const MAX_TEXT = 1_200;
/** The first half of a surrogate pair at the end. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;
/** The ids of this many runs fit into one notification. An id has at most 64 characters. */
const MAX_IDS = 100;
/** The same for qualified ids of agents, which may need 260 characters each. */
const MAX_AGENT_IDS = 25;
const NOTIFY = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload';

/**
 * Messages about runs between replicas, with NOTIFY. They are not stored. The handlers of this replica receive a message at once, the
 * handlers of other replicas within some milliseconds. Only the ends of runs are sent in the transaction of the change, one statement
 * for all runs that end in it; all other messages are collected and sent outside of transactions.
 */
@Injectable()
export class RunChannel implements OnApplicationBootstrap {
  private readonly replica = randomUUID();
  private readonly handlers: Handler[] = [];
  private readonly loop: Loop;
  /** The encoded messages. A repeated message is sent once. */
  private queued = new Set<string>();
  private live: LiveMessage[] = [];
  private parts = 0;

  constructor(
    private readonly db: Database,
    private readonly listener: PgListener,
    faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async () => await this.flush(),
      everyMs: () => IDLE_MS,
      paceMs: () => PACE_MS,
      onError: (error) => faults.report('runs.channel', error),
    });
    listener.on(CHANNEL, (payload) => this.receive(payload));
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  start(): void {
    this.loop.start();
  }

  /** Sends the last messages, such as the hand-over of runs. */
  @StopsIn('writes')
  async stop(): Promise<void> {
    await this.loop.stop();
    await this.flush();
  }

  onMessage(handler: Handler): void {
    this.handlers.push(handler);
  }

  /** Calls the handler after each connect, because messages may have been missed before it. */
  onConnected(handler: () => void): void {
    this.listener.onConnected(handler);
  }

  send(message: RunMessage): void {
    if (message.type === 'live') this.queueLive(message);
    else this.queued.add(JSON.stringify(message));
    this.loop.wake();
    this.deliver(message, true);
  }

  /** Wakes the agents, on all replicas. */
  sendOffers(agentIds: readonly string[]): void {
    for (let at = 0; at < agentIds.length; at += MAX_AGENT_IDS)
      this.send({ type: 'tasks-offered', agentIds: agentIds.slice(at, at + MAX_AGENT_IDS) });
  }

  /** Reports the progress of a task to the replica that waits for its result. */
  sendProgress(callId: string, kind: 'text' | 'progress', text: string): void {
    for (const piece of piecesOf(text)) {
      if (this.queued.size >= MAX_QUEUED) return;
      this.send({ type: 'task-progress', callId, kind, text: piece, part: (this.parts += 1) });
    }
  }

  /**
   * The statement that reports to the other replicas that these runs have ended. Send it together with the COMMIT of the transaction
   * that ends them: then no replica that begins to wait for one of them misses its end. This replica does not receive it.
   */
  announcement(runIds: readonly string[]): Statement {
    const payloads: string[] = [];
    for (let at = 0; at < runIds.length; at += MAX_IDS)
      payloads.push(this.encoded(JSON.stringify({ type: 'ended', runIds: runIds.slice(at, at + MAX_IDS) })));
    return { sql: { name: 'runs-announce', text: NOTIFY }, parameters: [CHANNEL, payloads] };
  }

  /** Consecutive pieces of one answer become one message. */
  private queueLive({ type, runId, event }: LiveMessage): void {
    const last = this.live.findLast((one) => one.runId === runId);
    const mayJoin = last?.event.type === event.type && last.event.afterStep === event.afterStep;
    if (last && mayJoin && event.type !== 'progress' && last.event.text.length + event.text.length <= MAX_TEXT) {
      this.live[this.live.indexOf(last)] = {
        ...last,
        event: { ...event, text: last.event.text + event.text },
      };
      return;
    }
    for (const text of piecesOf(event.text))
      if (this.live.length < MAX_QUEUED) this.live.push({ type, runId, event: { ...event, text } });
  }

  private async flush(): Promise<void> {
    const messages = [...this.live.map((message) => JSON.stringify(message)), ...this.queued];
    this.queued = new Set();
    this.live = [];
    if (messages.length === 0) return;
    await this.db.query(NOTIFY, [CHANNEL, messages.map((message) => this.encoded(message))]);
  }

  private encoded(message: string): string {
    return `${this.replica} ${message}`;
  }

  private receive(payload: string): void {
    const space = payload.indexOf(' ');
    if (payload.slice(0, space) === this.replica) return;
    this.deliver(JSON.parse(payload.slice(space + 1)) as RunMessage, false);
  }

  private deliver(message: RunMessage, isOwn: boolean): void {
    for (const handler of this.handlers) handler(message, isOwn);
  }
}

/** Pieces that fit into a notification. No piece ends in the middle of a character. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const piece = text.slice(at, at + MAX_TEXT);
    const isCut = piece.length === MAX_TEXT && HALF_CHARACTER.test(piece);
    yield isCut ? piece.slice(0, -1) : piece;
    at += isCut ? MAX_TEXT - 1 : MAX_TEXT;
  }
}
