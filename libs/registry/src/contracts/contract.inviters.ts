import { Injectable } from '@nestjs/common';
import { BackgroundFaults } from '#rollcall/platform';
import type { AgentRecord } from '../agents/agent.record.js';
import type { ContractNotice, Inviter } from './contract.notice.js';

/** Returns the agents that can execute a run. */
export type RunnableAgents = (agents: readonly AgentRecord[]) => Promise<AgentRecord[]>;

/** The channels of this replica. Other libraries add theirs, because the registry knows neither sockets nor HTTP. */
@Injectable()
export class ContractInviters {
  private readonly channels: Inviter[] = [];
  /** Delivers to endpoints. Unlike the other channels, every replica reaches every endpoint, so only one of them delivers. */
  endpoints?: Inviter;
  /** Selects the agents that are invited to contracts with `run`. Without it, all agents are. */
  runnable?: RunnableAgents;
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
