import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { CursorExpiredError, EventFeed, EventLog, qualifiedId, type RegistryEvent } from '#rollcall/platform';
import { AttendanceStore } from '../store/attendance.store.js';
import { type ContractKey, ContractStore } from '../store/contract.store.js';
import { ContractInviters, isCurrent, type NoticeKind } from './contract.inviters.js';
import { NoticeSender } from './notice.sender.js';

type Listener = (key: ContractKey) => void;

/** The agents that an event concerns, and what they are notified of. */
interface Notification {
  readonly kind: NoticeKind;
  readonly agents: readonly string[];
}

const END_EVENTS: ReadonlySet<string> = new Set(['contract.confirmed', 'contract.expired', 'contract.cancelled']);

/**
 * Follows the event log on every replica, and notifies the agents that this replica can reach: agents with a socket on this replica,
 * and agents that it hosts. So an agent is invited, whichever replica announced the contract. An agent that connects later receives
 * the invitations and awards that it has not answered. The dispatcher also reports the end of contracts to listeners in this process.
 */
@Injectable()
export class ContractDispatcher implements OnApplicationBootstrap {
  private readonly listeners = new Set<Listener>();

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    private readonly contracts: ContractStore,
    private readonly attendance: AttendanceStore,
    private readonly inviters: ContractInviters,
    private readonly sender: NoticeSender,
  ) {
    inviters.onReachable = (agentId) => void this.catchUp(agentId);
  }

  async onApplicationBootstrap(): Promise<void> {
    this.follow(await this.log.head());
  }

  /** Calls the listener when a contract is confirmed, expired or cancelled. Returns a function that removes the listener. */
  onEnded(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Follows the log after this position or, if the log does not contain it, after the nearest position. */
  private follow(after: number): void {
    this.feed.subscribe(after, {
      accept: (events) => {
        for (const event of events) if (event.type.startsWith('contract.')) this.onEvent(event);
      },
      expired: (error) => this.follow(error instanceof CursorExpiredError ? error.oldest : error.head),
    });
  }

  private onEvent(event: RegistryEvent): void {
    const key = { namespace: event.namespace, id: event.subject };
    if (END_EVENTS.has(event.type)) for (const listener of this.listeners) listener(key);
    const notification = notificationOf(event);
    if (!notification) return;
    this.sender.wake();
    const reachable = notification.agents
      .map((agentId) => qualifiedId(event.namespace, agentId))
      .filter((agentId) => this.inviters.reaches(agentId));
    if (reachable.length > 0) void this.notify(key, notification.kind, reachable);
  }

  /** Sends the invitations and the award that the agent has not answered. */
  private async catchUp(agentId: string): Promise<void> {
    try {
      for (const contract of await this.attendance.awaiting(agentId))
        this.inviters.deliver({ kind: contract.winner === agentId ? 'award' : 'bid', agentId, contract });
    } catch (error) {
      this.inviters.report(error);
    }
  }

  private async notify(key: ContractKey, kind: NoticeKind, agentIds: readonly string[]): Promise<void> {
    const contract = await this.contracts.find(key).catch((error: unknown) => {
      this.inviters.report(error);
      return undefined;
    });
    const notices = contract ? agentIds.map((agentId) => ({ kind, agentId, contract })) : [];
    for (const notice of notices.filter(isCurrent)) this.inviters.deliver(notice);
  }
}

function notificationOf(event: RegistryEvent): Notification | undefined {
  if (event.type === 'contract.announced') return { kind: 'bid', agents: event.data.invited };
  if (event.type === 'contract.awarded') return { kind: 'award', agents: [event.data.agentId] };
  if (event.type === 'contract.lost') return { kind: 'lost', agents: [event.data.agentId] };
  return undefined;
}
