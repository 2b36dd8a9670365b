import { type AgentConfig, type AgentProvider, ProviderError } from '#rollcall/providers';
import { FakeAgent } from './fake.agent.js';

/** How an agent is built and closed. `slow`: its construction waits for `proceed`. */
export type FakeSettings = { builds?: 'slow' | 'fails'; closes?: 'hangs' | 'fails' };

/** Builds agents, and records them. The settings of a definition state how its agent is built and closed. */
export class FakeAgentProvider implements AgentProvider {
  readonly name = 'fake';
  readonly agentType = 'in-process';
  readonly built: FakeAgent[] = [];
  /** How many constructions have started. */
  attempts = 0;
  private waiting: (() => void)[] = [];

  async createAgent({ name, settings }: AgentConfig): Promise<FakeAgent> {
    const { builds, closes } = settings as FakeSettings;
    this.attempts += 1;
    if (builds === 'fails') throw new ProviderError('AGENT_UNREACHABLE', `${name} cannot be built`);
    if (builds === 'slow') await new Promise<void>((resolve) => this.waiting.push(resolve));
    const agent = new FakeAgent(name);
    if (closes === 'hangs') agent.shutdown = async () => await new Promise<void>(() => undefined);
    if (closes === 'fails') agent.shutdown = async () => await Promise.reject(new Error(`${name} cannot be closed`));
    this.built.push(agent);
    return agent;
  }

  /** Lets the slow constructions continue. */
  proceed(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting = [];
  }

  /** The agents that are not closed. */
  get open(): FakeAgent[] {
    return this.built.filter(({ isShutDown }) => !isShutDown);
  }
}
