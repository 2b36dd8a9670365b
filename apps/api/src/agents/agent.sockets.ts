import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CursorExpiredError, EventFeed, EventLog, type RegistryEvent } from '#rollcall/platform';
import { type BeatResult, type LeasePolicy, RegisterAgainError, StaleGenerationError } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { StreamKeeper } from '../events/stream.keeper.js';
import type { AgentSocket } from './agent.socket.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { SocketEvacuation } from './socket.evacuation.js';

/**
 * The agents that are connected to this replica, and what the feed has to say to them: an operator's wish reaches them from
 * whichever replica it was said to, without a port of their own to be called at.
 */
@Injectable()
export class AgentSockets implements OnApplicationBootstrap {
  private readonly byAgent = new Map<string, Set<AgentSocket>>();
  private readonly evacuation: SocketEvacuation;

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    private readonly keeper: StreamKeeper,
    @Inject(LEASE_POLICY) lease: LeasePolicy,
  ) {
    this.evacuation = new SocketEvacuation(
      () => [...this.byAgent.values()].flatMap((sockets) => Array.from(sockets)),
      lease,
    );
  }

  get count(): number {
    return [...this.byAgent.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** What became of a beat that came over one of the sockets. */
  onBeat(result: BeatResult): void {
    this.evacuation.onBeat(result);
  }

  /** Answers how to let go of it. */
  add(socket: AgentSocket, principal: Principal): () => void {
    const { agentId } = socket.claim;
    const sockets = this.byAgent.get(agentId) ?? new Set();
    this.byAgent.set(agentId, sockets.add(socket));
    const release = this.keeper.keep(principal, socket);
    return () => {
      release();
      sockets.delete(socket);
      if (sockets.size === 0 && this.byAgent.get(agentId) === sockets) this.byAgent.delete(agentId);
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    this.follow(await this.log.head());
  }

  /** When the log cannot be gone on from there, from the nearest place that it can. */
  private follow(after: number): void {
    this.feed.subscribe(after, {
      accept: (events) => {
        for (const event of events) for (const socket of this.byAgent.get(event.subject) ?? []) pass(event, socket);
      },
      expired: (error) => this.follow(error instanceof CursorExpiredError ? error.oldest : error.head),
    });
  }
}

/** The agent, or an operator in its place, ended the registration on purpose: it is not to register again by itself. */
const GOODBYES: ReadonlySet<string> = new Set(['deregistered', 'shutdown', 'drained', 'budget_exhausted']);

function pass(event: RegistryEvent, socket: AgentSocket): void {
  if (event.type === 'agent.draining') socket.control({ action: 'drain', by: event.data.by });
  if (event.type === 'agent.quarantined') socket.control({ action: 'quarantine', by: event.data.by });
  if (event.type === 'agent.resumed') socket.control({ action: 'resume', by: event.data.by });
  if (event.type === 'agent.left') leave(event, socket);
}

/** Of an earlier life it is no news. */
function leave({ subject, data }: Extract<RegistryEvent, { type: 'agent.left' }>, socket: AgentSocket): void {
  const { generation, reason } = data;
  if (generation < socket.claim.generation) return;
  if (reason === 'replaced') return socket.refuse(new StaleGenerationError(subject, generation, generation + 1));
  socket.control({ action: GOODBYES.has(reason) ? 'stop' : 'register', reason });
  socket.refuse(new RegisterAgainError(subject, reason));
}
