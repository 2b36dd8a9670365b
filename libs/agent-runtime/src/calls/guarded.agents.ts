import { Injectable, Logger } from '@nestjs/common';
import { type AgentConfig, AgentProviderRegistry } from '#rollcall/providers';
import { CircuitService } from '#rollcall/registry';
import { GuardedAgent } from './guarded.agent.js';

/** Creates agents that are called through the circuit of their `agentId`. */
@Injectable()
export class GuardedAgents {
  private readonly log = new Logger('agents');

  constructor(
    private readonly providers: AgentProviderRegistry,
    private readonly circuits: CircuitService,
  ) {}

  async create(agentId: string, provider: string, config: AgentConfig): Promise<GuardedAgent> {
    const agent = await this.providers.get(provider).createAgent(config);
    const onReportFailed = (error: unknown): void =>
      this.log.warn({ event: 'agents.outcome_lost', agentId, err: error });
    return new GuardedAgent({ agentId, agent, circuits: this.circuits, onReportFailed });
  }
}
