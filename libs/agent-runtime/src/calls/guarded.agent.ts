import { ProviderError, type Agent, type AgentEvent, type AgentMessage, type HandleOptions } from '#rollcall/providers';
import type { CircuitService } from '#rollcall/registry';

export interface GuardedAgentOptions {
  /** By which the registry knows it. */
  agentId: string;
  agent: Agent;
  circuits: Pick<CircuitService, 'admit' | 'report' | 'returnProbe'>;
  /** Hears of an outcome that could not be written down. The call itself is not harmed by it. */
  onLost(error: unknown): void;
}

/**
 * An agent behind its circuit: every call asks to be let through, and its outcome is reported, for all replicas. Only what
 * the other side did counts. A call that was cancelled, refused for the caller's or the operator's fault, or left early
 * says nothing about its health, so it is reported neither as a success nor as a failure; were it the probe, the slot is
 * given back.
 */
export class GuardedAgent implements Agent {
  constructor(private readonly options: GuardedAgentOptions) {}

  get name(): string {
    return this.options.agent.name;
  }

  get agentType(): Agent['agentType'] {
    return this.options.agent.agentType;
  }

  get state(): Agent['state'] {
    return this.options.agent.state;
  }

  async *handle(message: AgentMessage, options?: HandleOptions): AsyncGenerator<AgentEvent> {
    const { agentId, agent, circuits } = this.options;
    const probeId = await circuits.admit(agentId, crypto.randomUUID());
    let ok: boolean | undefined;
    try {
      for await (const event of agent.handle(message, options)) {
        if (event.type === 'finished') ok = true; // now, since many leave with this event in hand
        yield event;
      }
    } catch (error) {
      if (isFaultOfTheAgent(error)) ok = false;
      throw error;
    } finally {
      await this.report(ok, probeId);
    }
  }

  async shutdown(): Promise<void> {
    await this.options.agent.shutdown();
  }

  private async report(ok: boolean | undefined, probeId?: string): Promise<void> {
    const { agentId, circuits, onLost } = this.options;
    if (ok !== undefined) await circuits.report(agentId, { ok, probeId }).catch(onLost);
    else if (probeId !== undefined) await circuits.returnProbe(agentId, probeId).catch(onLost);
  }
}

function isFaultOfTheAgent(error: unknown): boolean {
  return error instanceof ProviderError && error.fault === 'remote';
}
