import type { Agent, AgentEvent, AgentMessage, HandleOptions } from '#rollcall/providers';

/**
 * Creates the agent with the first call. If the creation fails, the call fails, and a circuit around this agent counts the failure. The
 * next call tries again.
 */
export class LazyAgent implements Agent {
  private created?: Promise<Agent>;
  private current?: Agent;
  private isClosed = false;

  constructor(
    readonly name: string,
    readonly agentType: Agent['agentType'],
    private readonly create: () => Promise<Agent>,
  ) {}

  get state(): Agent['state'] {
    return this.current?.state ?? (this.isClosed ? 'closed' : 'idle');
  }

  async *handle(message: AgentMessage, options?: HandleOptions): AsyncGenerator<AgentEvent> {
    const agent = await this.agent();
    yield* agent.handle(message, options);
  }

  async shutdown(): Promise<void> {
    this.isClosed = true;
    await (await this.created?.catch(() => undefined))?.shutdown();
  }

  private async agent(): Promise<Agent> {
    this.created ??= this.create().catch((error: unknown) => {
      this.created = undefined;
      throw error;
    });
    this.current = await this.created;
    if (this.isClosed) await this.current.shutdown(); // the call then fails with AGENT_CLOSED
    return this.current;
  }
}
