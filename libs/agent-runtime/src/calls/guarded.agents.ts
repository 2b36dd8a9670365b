import { Injectable, Logger } from '@nestjs/common';
import { type Agent, type AgentConfig, AgentProviderRegistry } from '#rollcall/providers';
import { CircuitService } from '#rollcall/registry';
import { GuardedAgent } from './guarded.agent.js';
import { LazyAgent } from './lazy.agent.js';

/** Creates agents that are called through the circuit of their `agentId`. */
@Injectable()
export class GuardedAgents {
  private readonly log = new Logger('agents');

  constructor(
    private readonly providers: AgentProviderRegistry,
    private readonly circuits: CircuitService,
  ) {}

  async create(agentId: string, provider: string, config: AgentConfig): Promise<GuardedAgent> {
    return this.guarded(agentId, await this.providers.get(provider).createAgent(config));
  }

  /** Like `create`, but the agent is created by its first call, and a failed creation counts for the circuit. */
  createLazily(agentId: string, provider: string, config: AgentConfig): GuardedAgent {
    const { agentType } = this.providers.get(provider);
    const create = async (): Promise<Agent> => await this.providers.get(provider).createAgent(config);
    return this.guarded(agentId, new LazyAgent(config.name, agentType, create));
  }

  private guarded(agentId: string, agent: Agent): GuardedAgent {
    const onReportFailed = (error: unknown): void =>
      this.log.warn({ event: 'agents.outcome_lost', agentId, err: error });
    return new GuardedAgent({ agentId, agent, circuits: this.circuits, onReportFailed });
  }
}
