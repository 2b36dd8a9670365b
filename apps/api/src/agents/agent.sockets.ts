import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CursorExpiredError, EventFeed, EventLog, qualifiedId, type RegistryEvent } from '#rollcall/platform';
import {
  type BeatResult,
  ContractInviters,
  type ContractNotice,
  type Inviter,
  type LeasePolicy,
  RegisterAgainError,
  StaleGenerationError,
  toNoticeView,
} from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { StreamConnections } from '../streams/stream.connections.js';
import type { AgentSocket } from './agent.socket.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { SocketEvacuation } from './socket.evacuation.js';

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
    const { agentId } = socket.claim;
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
  onWelcome({ claim }: AgentSocket): void {
    this.inviters.onReachable?.(claim.agentId);
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
  const { agentId } = socket.claim;
  if (generation < socket.claim.generation) return;
  if (reason === 'replaced') return socket.sendError(new StaleGenerationError(agentId, generation, generation + 1));
  socket.control({ action: FINAL_REASONS.has(reason) ? 'stop' : 'register', reason });
  socket.sendError(new RegisterAgainError(agentId, reason));
}
