import { Injectable } from '@nestjs/common';
import { Database, type EventDraft, EventOutbox, localIdOf } from '#rollcall/platform';
import type { ExpiryReason, LapseReason } from './auction/auction.js';
import type { Contract, ContractOutcome, Participant } from './contract.js';
import { BidStore } from './store/bid.store.js';
import { NoticeStore } from './store/notice.store.js';
import { type TranscriptFacts, TranscriptStore } from './store/transcript.store.js';

interface ContractCount {
  /** Such as `announced`, `answered`, `late` or `expired`. */
  event: string;
  /** Why a contract expired; empty for all other events. */
  reason: string;
  count: number;
}

/** Counts what this replica has committed about contracts. */
@Injectable()
export class ContractCounts {
  private readonly counts = new Map<string, ContractCount>();

  add(event: string, reason = ''): void {
    const key = `${event} ${reason}`;
    const count = (this.counts.get(key)?.count ?? 0) + 1;
    this.counts.set(key, { event, reason, count });
  }

  all(): ContractCount[] {
    return [...this.counts.values()];
  }
}

type ContractDraft = Extract<EventDraft, { type: `contract.${string}` }>;
type Fact = ContractDraft extends infer Draft
  ? Draft extends ContractDraft
    ? Pick<Draft, 'type' | 'data'>
    : never
  : never;

/**
 * Records what happens to a contract: in its transcript, as events, and as notices for the agents that it concerns. Everything is
 * written in the transaction of the change, and the caller has locked the contract.
 */
@Injectable()
export class ContractEvents {
  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
    private readonly bids: BidStore,
    private readonly transcript: TranscriptStore,
    private readonly notices: NoticeStore,
    private readonly counts: ContractCounts,
  ) {}

  async announced(contract: Contract, agentIds: readonly string[]): Promise<void> {
    const { id, by, notInvited } = contract;
    const [capabilities, invited] = [[...contract.capabilities], agentIds.map(localIdOf)];
    const deadline = new Date(contract.deadline).toISOString();
    await this.transcript.append(id, 'announced', {
      invited,
      ...(notInvited > 0 && { notInvited }),
      capabilities,
      deadline,
    });
    await this.append(contract, { type: 'contract.announced', data: { invited, capabilities, deadline, by } });
    await this.notices.add(id, 'bid', agentIds);
  }

  /** The event says only how many agents have answered, because the bids are sealed. `at` is when the answer was accepted. */
  async answered(
    contract: Contract,
    fact: TranscriptFacts['bid'] | TranscriptFacts['refused'],
    at: number,
  ): Promise<void> {
    const { id, answered, invited } = contract;
    if ('price' in fact) await this.transcript.append(id, 'bid', fact, at);
    else await this.transcript.append(id, 'refused', fact, at);
    await this.append(contract, { type: 'contract.answered', data: { answered, invited } });
  }

  /** Records a late answer in the transcript. It has no event, because it changes nothing. */
  async late({ id }: Contract, fact: TranscriptFacts['late'], at: number): Promise<void> {
    await this.transcript.append(id, 'late', fact, at);
    this.db.afterCommit(() => this.counts.add('late'));
  }

  async awarded(contract: Contract, { agentId, offer, score }: Participant): Promise<void> {
    const confirmBy = new Date(contract.confirmBy ?? 0).toISOString();
    const { price = 0, etaMs = 0 } = offer ?? {};
    const data = { agentId: localIdOf(agentId), score: score ?? 0, price, etaMs, confirmBy };
    await this.transcript.append(contract.id, 'awarded', data);
    await this.append(contract, { type: 'contract.awarded', data });
    await this.notices.add(contract.id, 'award', [agentId]);
  }

  async lapsed(contract: Contract, agentId: string, reason: LapseReason | 'declined'): Promise<void> {
    const data = { agentId: localIdOf(agentId) };
    if (reason === 'declined') await this.transcript.append(contract.id, 'declined', data);
    else await this.transcript.append(contract.id, 'lapsed', { ...data, reason });
    await this.append(contract, { type: 'contract.lapsed', data: { ...data, declined: reason === 'declined' } });
  }

  async confirmed(contract: Contract, agentId: string): Promise<void> {
    const data = { agentId: localIdOf(agentId) };
    await this.transcript.append(contract.id, 'confirmed', data);
    await this.append(contract, { type: 'contract.confirmed', data });
    await this.lost(contract);
  }

  async expired(contract: Contract, reason: ExpiryReason): Promise<void> {
    await this.transcript.append(contract.id, 'expired', { reason });
    await this.append(contract, { type: 'contract.expired', data: { reason } });
    await this.lost(contract);
  }

  async cancelled(contract: Contract, by: string): Promise<void> {
    await this.transcript.append(contract.id, 'cancelled', { by });
    await this.append(contract, { type: 'contract.cancelled', data: { by } });
    await this.lost(contract);
  }

  async completed(contract: Contract, agentId: string, outcome: ContractOutcome): Promise<void> {
    const { ok, microUsd, ms } = outcome;
    await this.transcript.append(contract.id, 'outcome', { agentId: localIdOf(agentId), ...outcome });
    const data = { agentId: localIdOf(agentId), ok, microUsd, ms };
    await this.append(contract, { type: 'contract.completed', data });
  }

  /** Notifies the agents that have bid and not won. */
  private async lost(contract: Contract): Promise<void> {
    const { id, winner } = contract;
    const bidders = (await this.bids.all(id)).filter(({ answer }) => answer === 'bid');
    const losers = bidders.map(({ agentId }) => agentId).filter((agentId) => agentId !== winner);
    if (losers.length === 0) return;
    await this.transcript.append(id, 'lost', { agentIds: losers.map(localIdOf) });
    const facts = losers.map((agentId): Fact => ({ type: 'contract.lost', data: { agentId: localIdOf(agentId) } }));
    await this.append(contract, ...facts);
    await this.notices.add(id, 'lost', losers);
  }

  private async append({ id, namespace, capabilities }: Contract, ...facts: Fact[]): Promise<void> {
    const context = { subject: id, namespace, capabilities };
    await this.outbox.appendAll(facts.map((fact) => Object.assign(fact, context) as EventDraft));
    this.db.afterCommit(() => {
      for (const { type, data } of facts)
        this.counts.add(type.slice('contract.'.length), 'reason' in data ? data.reason : '');
    });
  }
}
