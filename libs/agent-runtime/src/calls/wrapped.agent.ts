import type { Agent, AgentEvent, AgentMessage, HandleOptions } from '#rollcall/providers';

/** The base class of agents that wrap another agent, and act before and after its calls. */
export abstract class WrappedAgent implements Agent {
  constructor(protected readonly agent: Agent) {}

  get name(): string {
    return this.agent.name;
  }

  get agentType(): Agent['agentType'] {
    return this.agent.agentType;
  }

  get state(): Agent['state'] {
    return this.agent.state;
  }

  abstract handle(message: AgentMessage, options?: HandleOptions): AsyncIterable<AgentEvent>;

  async shutdown(): Promise<void> {
    await this.agent.shutdown();
  }
}
