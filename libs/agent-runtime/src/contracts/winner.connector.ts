import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { Directory } from '#rollcall/registry';
import { AgentConnector } from '../delegation/agent.connector.js';
import type { DelegationTarget } from '../delegation/delegation.targets.js';
import { HostedAgents } from '../lifecycle/hosted.agents.js';
import { AgentHostedElsewhereError } from '../lifecycle/lifecycle.errors.js';
import { RemoteAgents } from './remote.agents.js';

/** Connects a delegation to the winner of an auction: over its endpoint, on this replica, or on another one. */
@Injectable()
export class WinnerConnector {
  constructor(
    private readonly directory: Directory,
    private readonly connector: AgentConnector,
    private readonly hosted: HostedAgents,
    private readonly remote: RemoteAgents,
  ) {}

  /** An agent with an endpoint is called over it. Any other agent is called by the replica that hosts it. */
  async connect(namespace: string, name: string): Promise<DelegationTarget> {
    const record = this.directory.find(qualifiedId(namespace, name))?.record;
    const connection = record && this.connector.connect(record);
    const registered = record && { agentId: name, costModel: record.costModel };
    if (connection) return { name, agent: connection.agent, registered, close: async () => await connection.release() };
    return { ...(await this.own(namespace, name)), registered };
  }

  private async own(namespace: string, name: string): Promise<DelegationTarget> {
    try {
      const { agent, release } = await this.hosted.use({ namespace, name });
      return { name, agent, close: async () => await Promise.resolve(release()) };
    } catch (error) {
      if (!(error instanceof AgentHostedElsewhereError)) throw error;
      return { name, agent: this.remote.agent(name), close: async () => await Promise.resolve() };
    }
  }
}
