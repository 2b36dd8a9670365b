import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  CursorExpiredError,
  DatabaseUnavailableError,
  EventFeed,
  EventLog,
  qualifiedId,
  type RegistryEvent,
} from '#rollcall/platform';
import {
  type AgentRecord,
  type BeatResult,
  ContractInviters,
  type ContractNotice,
  type Inviter,
  type LeaseCredential,
  type LeasePolicy,
  type NoticeView,
  RegisterAgainError,
  StaleGenerationError,
  toNoticeView,
} from '#rollcall/registry';
import type { Principal } from '../../auth/principal.js';
import { toProblem } from '../../http/problems/problem.js';
import type { FrameSocket } from '../../streams/frame.socket.js';
import { type StreamConnection, StreamConnections } from '../../streams/stream.connections.js';
import { CLOSE_CODES as STREAM_CLOSE_CODES, TRY_AGAIN_LATER } from '../../streams/stream.end.js';
import type { BeatNotices } from '../work/work.notices.js';
import type { TakenTaskView } from '../work/work.view.js';
import { heartbeatJson, LEASE_POLICY } from './heartbeat.js';

/** An action that the server requests from the agent. */
type Control =
  | { action: 'drain' | 'quarantine' | 'resume'; by: string }
  | { action: 'register' | 'stop'; reason: string }
  | { action: 'cancel'; callId: string }
  | ({ action: ContractNotice['kind'] } & NoticeView);

/**
 * Close codes: 1013 means "try again later"; codes from 4000 are for applications, and their last three digits are the matching
 * HTTP status.
 */
const CLOSE_CODES: Record<string, number> = {
  ...STREAM_CLOSE_CODES,
  TRY_AGAIN: TRY_AGAIN_LATER,
  LEASE_TOKEN_REFUSED: 4403,
  REGISTER_AGAIN: 4404,
  STALE_GENERATION: 4409,
};
/** An agent that sends heartbeats without reading the results is disconnected. */
const MAX_UNREAD_BYTES = 256 * 1_024;

/**
 * The socket of one agent. Frames are `{"event": …, "data": …}`, as on the socket for events. The socket may close at any time:
 * only the lease decides whether the agent is listed.
 */
export class AgentSocket implements StreamConnection {
  readonly cursor = undefined;

  constructor(
    private readonly socket: FrameSocket,
    readonly credential: LeaseCredential,
  ) {}

  get open(): boolean {
    return this.socket.open;
  }

  welcome(
    { agentId, generation, desiredState }: AgentRecord,
    heartbeat: { intervalMs: number; leaseMs: number },
  ): void {
    this.send('welcome', { agentId, generation, desiredState, heartbeat });
  }

  sendResult(result: BeatResult, nextIntervalMs: number, notices: BeatNotices = {}): void {
    if (!result.ok) return this.sendError(result.error);
    const beatAt = new Date(result.beatAt).toISOString();
    this.write(`{"event":"beaten","data":${heartbeatJson({ beatAt, nextIntervalMs, ...notices })}}`);
  }

  /** Resolves when the task is passed to the network, so that an agent that reads slowly gets its tasks slowly. */
  async task(task: TakenTaskView): Promise<void> {
    if (!this.open) return;
    await new Promise<void>((resolve) =>
      this.socket.write(JSON.stringify({ event: 'task', data: task }), () => resolve()),
    );
  }

  /** The result of the task is stored. */
  reported(callId: string): void {
    this.send('reported', { callId, state: 'finished' });
  }

  control(control: Control): void {
    this.send('control', control);
  }

  /** Sends the members of problem+json, and the task that the error is about. An error that ends this registration also closes the socket. */
  sendError(error: unknown, callId?: string): void {
    const { status, body } = toProblem(error, randomUUID());
    this.send('error', callId === undefined ? body : { ...body, callId });
    const code = String(body['code']);
    if (status < 500 && code in CLOSE_CODES) this.close(code);
  }

  /** Sends a ping. Disconnects an agent that did not respond to the previous ping; its lease stays. */
  beat(): void {
    this.socket.ping();
  }

  end({ code, detail }: { code: string; detail: string }): void {
    this.send('end', { code, detail });
    this.close(code);
  }

  private close(code: string): void {
    this.socket.close(CLOSE_CODES[code], { code });
  }

  private send(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  private write(text: string): void {
    if (this.open && this.socket.buffered > MAX_UNREAD_BYTES) return this.close('SLOW_CONSUMER');
    this.socket.write(text);
  }
}

/** Fractions of the heartbeat interval. Both are much shorter than a lease, which lasts at least three intervals. */
const CLOSE_DELAY = 0.25;
const CLOSE_SPREAD = 0.5;

const REASON = {
  code: 'DATABASE_UNAVAILABLE',
  detail:
    'This replica cannot reach its database, so it cannot record your heartbeats. Connect again to reach another replica.',
};

/**
 * Closes the sockets of agents when this replica cannot record their heartbeats: otherwise the agents would stay connected here
 * until another replica evicts them. The sockets close at random times, so that agents do not reconnect all at the same time. A
 * recorded heartbeat stops the evacuation: the database works again, and reconnecting agents would only add load.
 */
export class SocketEvacuation {
  private running?: AbortController;

  constructor(
    private readonly sockets: () => Pick<AgentSocket, 'open' | 'end'>[],
    private readonly lease: LeasePolicy,
  ) {}

  /** Call this with the result of each heartbeat. */
  onBeat(result: BeatResult): void {
    if (result.ok) this.stop();
    else if (result.error instanceof DatabaseUnavailableError) this.start();
  }

  private start(): void {
    if (this.running) return;
    const run = new AbortController();
    this.running = run;
    const { intervalMs } = this.lease;
    const later = (fraction: number, act: () => void): void => {
      setTimeout(() => !run.signal.aborted && act(), fraction * intervalMs).unref();
    };
    later(CLOSE_DELAY, () => {
      for (const socket of this.sockets()) later(Math.random() * CLOSE_SPREAD, () => socket.open && socket.end(REASON));
      later(CLOSE_SPREAD, () => this.stop()); // after the last socket, also if this timer fired late
    });
  }

  private stop(): void {
    this.running?.abort();
    this.running = undefined;
  }
}

/**
 * The sockets of the agents that are connected to this replica. Actions of operators reach an agent through the event feed, from
 * any replica, so an agent needs no port of its own. Invitations to bid, awards and the results of lost auctions are also sent to
 * these sockets.
 */
@Injectable()
export class AgentSockets implements OnApplicationBootstrap, Inviter {
  /** The key is the qualified id of the agent. */
  private readonly byAgent = new Map<string, Set<AgentSocket>>();
  private readonly evacuation: SocketEvacuation;

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    private readonly connections: StreamConnections,
    @Inject(LEASE_POLICY) lease: LeasePolicy,
    private readonly inviters: ContractInviters,
  ) {
    inviters.add(this);
    this.evacuation = new SocketEvacuation(
      () => [...this.byAgent.values()].flatMap((sockets) => Array.from(sockets)),
      lease,
    );
  }

  get count(): number {
    return [...this.byAgent.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Call this with the result of each heartbeat that arrived over one of the sockets. */
  onBeat(result: BeatResult): void {
    this.evacuation.onBeat(result);
  }

  /** Returns a function that removes the socket. */
  add(socket: AgentSocket, principal: Principal): () => void {
    const { agentId } = socket.credential;
    const sockets = this.byAgent.get(agentId) ?? new Set();
    this.byAgent.set(agentId, sockets.add(socket));
    const release = this.connections.add(principal, socket);
    return () => {
      release();
      sockets.delete(socket);
      if (sockets.size === 0 && this.byAgent.get(agentId) === sockets) this.byAgent.delete(agentId);
    };
  }

  /** Call this when the agent has received its welcome: it then receives the invitations and awards that wait for its answer. */
  onWelcome({ credential }: AgentSocket): void {
    this.inviters.onReachable?.(credential.agentId);
  }

  reaches(agentId: string): boolean {
    return this.byAgent.has(agentId);
  }

  async deliver(notice: ContractNotice): Promise<void> {
    const control = { action: notice.kind, ...toNoticeView(notice) };
    for (const socket of this.byAgent.get(notice.agentId) ?? []) socket.control(control);
    await Promise.resolve();
  }

  async onApplicationBootstrap(): Promise<void> {
    this.follow(await this.log.head());
  }

  /** Follows the log after this position or, if the log does not contain it, after the nearest position. */
  private follow(after: number): void {
    this.feed.subscribe(after, {
      accept: (events) => {
        for (const event of events) {
          const sockets = this.byAgent.get(qualifiedId(event.namespace, event.subject)) ?? [];
          for (const socket of sockets) forward(event, socket);
        }
      },
      expired: (error) => this.follow(error instanceof CursorExpiredError ? error.oldest : error.head),
    });
  }
}

/** If an agent left for one of these reasons, its registration ended intentionally: it should not register again by itself. */
const FINAL_REASONS: ReadonlySet<string> = new Set(['deregistered', 'shutdown', 'drained', 'budget_exhausted']);

function forward(event: RegistryEvent, socket: AgentSocket): void {
  if (event.type === 'agent.draining') socket.control({ action: 'drain', by: event.data.by });
  if (event.type === 'agent.quarantined') socket.control({ action: 'quarantine', by: event.data.by });
  if (event.type === 'agent.resumed') socket.control({ action: 'resume', by: event.data.by });
  if (event.type === 'agent.left') forwardLeft(event, socket);
}

/** Events about earlier generations are ignored. */
function forwardLeft({ data }: Extract<RegistryEvent, { type: 'agent.left' }>, socket: AgentSocket): void {
  const { generation, reason } = data;
  const { agentId } = socket.credential;
  if (generation < socket.credential.generation) return;
  if (reason === 'replaced') return socket.sendError(new StaleGenerationError(agentId, generation, generation + 1));
  socket.control({ action: FINAL_REASONS.has(reason) ? 'stop' : 'register', reason });
  socket.sendError(new RegisterAgainError(agentId, reason));
}
