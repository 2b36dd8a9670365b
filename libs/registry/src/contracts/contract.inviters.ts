import { Injectable } from '@nestjs/common';
import { BackgroundFaults } from '#rollcall/platform';
import type { AgentRecord } from '../agents/agent.record.js';
import type { ContractNotice, Inviter } from './contract.notice.js';

/** Returns the agents that can execute a run. */
export type RunnableAgents = (agents: readonly AgentRecord[]) => Promise<AgentRecord[]>;

/** The channels over which this replica delivers notices. Other libraries add them: the registry knows neither sockets nor HTTP. */
@Injectable()
export class ContractInviters {
  private readonly channels: Inviter[] = [];
  /** Delivers to endpoints. It is separate, because every replica reaches every endpoint, and only one replica delivers a notice. */
  endpoints?: Inviter;
  /** Selects the agents that may be invited to contracts with `run`. Without this function, all agents may be invited. */
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
