import { Injectable } from '@nestjs/common';
import { BackgroundFaults } from '#rollcall/platform';
import type { AgentRecord } from '../../agents/agent.record.js';
import { isSealed } from '../auction/auction.js';
import type { Contract } from '../contract.js';

/** A notice to an agent. `bid`: the agent may bid. `award`: it must confirm. `lost`: another agent has won, or no agent has. */
const NOTICE_KINDS = ['bid', 'award', 'lost'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A notice for one agent. */
export interface ContractNotice {
  readonly kind: NoticeKind;
  /** The qualified id of the agent. */
  readonly agentId: string;
  readonly contract: Contract;
}

/** Whether the notice is still true. The contract may have changed between the event and the delivery. */
export function isCurrent({ kind, agentId, contract: { state, winner } }: ContractNotice): boolean {
  if (kind === 'bid') return isSealed(state);
  return kind === 'lost' || (state === 'awarded' && winner === agentId);
}

/**
 * Delivers notices over one channel, such as the sockets or the endpoints of agents. Delivery may fail or happen twice: an agent
 * that receives no notice does not bid, and a repeated notice has no effect.
 */
export interface Inviter {
  /** Whether this replica can reach the agent over this channel. */
  reaches(agentId: string): boolean;
  deliver(notice: ContractNotice): Promise<void>;
}

/** The part of a contract that the notified agent may read. Other bidders and their bids are not part of it. */
export interface NoticeView {
  contractId: string;
  capabilities: string[];
  task: string;
  deadline: string;
  maxPrice: number | null;
  maxEtaMs: number | null;
  /** Only for an award: until when the agent must confirm. */
  confirmBy?: string;
}

export function toNoticeView({ kind, contract }: ContractNotice): NoticeView {
  const { id: contractId, capabilities, task, limits, confirmBy } = contract;
  const view = {
    contractId,
    capabilities: [...capabilities],
    task,
    deadline: new Date(contract.deadline).toISOString(),
  };
  const terms = { ...view, maxPrice: limits.price, maxEtaMs: limits.etaMs };
  return kind === 'award' ? { ...terms, confirmBy: new Date(confirmBy ?? 0).toISOString() } : terms;
}

/** The channels over which this replica delivers notices. Other libraries add them: the registry knows neither sockets nor HTTP. */
@Injectable()
export class ContractInviters {
  private readonly channels: Inviter[] = [];
  /** Delivers to endpoints. It is separate, because every replica reaches every endpoint, and only one replica delivers a notice. */
  endpoints?: Inviter;
  /**
   * Returns the agents that may be invited; with `mustRun`, only agents that can execute a run. Without this function, all agents may be
   * invited.
   */
  eligible?: (agents: readonly AgentRecord[], mustRun: boolean) => Promise<readonly AgentRecord[]>;
  /** Called when this replica can reach an agent that it could not reach before. */
  onReachable?: (agentId: string) => void;

  constructor(private readonly faults: BackgroundFaults) {}

  add(inviter: Inviter): void {
    this.channels.push(inviter);
  }

  reaches(agentId: string): boolean {
    return this.channels.some((channel) => channel.reaches(agentId));
  }

  /** Delivers over all channels that reach the agent. A failure of one channel does not affect the others. */
  deliver(notice: ContractNotice): void {
    for (const channel of this.channels) {
      if (!channel.reaches(notice.agentId)) continue;
      void channel.deliver(notice).catch((error: unknown) => this.report(error));
    }
  }

  report(error: unknown): void {
    this.faults.report('contracts.notify', error);
  }
}
