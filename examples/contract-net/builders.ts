import type { Agent, AgentBid, AgentConfig, AgentEvent, AgentProvider, BidInvitation } from '#rollcall/providers';

/** How an agent bids, and how it really works. Prices are in micro-dollars. */
export interface BuilderSettings {
  readonly price: number;
  readonly etaMs: number;
  readonly confidence: number;
  /** What the work really costs. */
  readonly actualPrice: number;
}

/** An agent that bids for tasks. It refuses what it cannot do within the limits of the contract. */
class Builder implements Agent {
  readonly agentType = 'in-process';
  readonly state = 'idle';
  /** The contracts that this agent has bid for and lost. */
  readonly lostContracts: string[] = [];

  constructor(
    readonly name: string,
    private readonly settings: BuilderSettings,
  ) {}

  async bid({ maxPrice, maxEtaMs }: BidInvitation): Promise<AgentBid> {
    const { price, etaMs, confidence } = this.settings;
    const isPossible = price <= (maxPrice ?? Infinity) && etaMs <= (maxEtaMs ?? Infinity);
    return await Promise.resolve(isPossible ? { price, etaMs, confidence } : { refuse: true, note: 'Out of reach.' });
  }

  lost(contractId: string): void {
    this.lostContracts.push(contractId);
  }

  async *handle(): AsyncGenerator<AgentEvent> {
    const parts = [{ type: 'text', text: `${this.name} built it.` } as const];
    const usage = { inputTokens: 10, outputTokens: 10, costMicroUsd: this.settings.actualPrice };
    yield await Promise.resolve({ type: 'finished', result: { outcome: 'completed', parts, usage } } as const);
  }

  async shutdown(): Promise<void> {
    await Promise.resolve();
  }
}

/** Creates builders. Register it with `AgentProviderRegistry.register`. */
export class BuilderProvider implements AgentProvider {
  readonly name = 'builder';
  readonly agentType = 'in-process';
  readonly builders = new Map<string, Builder>();

  async createAgent({ name, settings }: AgentConfig): Promise<Agent> {
    const builder = new Builder(name, settings as BuilderSettings);
    this.builders.set(name, builder);
    return await Promise.resolve(builder);
  }
}

/** Three agents of different price and speed. The third agent costs ten times as much as it bids. */
export const BUILDERS: Record<string, BuilderSettings> = {
  thrifty: { price: 20_000, etaMs: 60_000, confidence: 0.8, actualPrice: 20_000 },
  swift: { price: 60_000, etaMs: 10_000, confidence: 0.9, actualPrice: 60_000 },
  boaster: { price: 15_000, etaMs: 9_000, confidence: 1, actualPrice: 150_000 },
};
