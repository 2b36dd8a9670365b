import type { AgentCard, AgentSkill } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { AgentNotFoundError, AgentsService } from '#rollcall/registry';
import { AgentLookup } from '../agents/discovery/agent.lookup.js';
import { VERSION } from '../version.js';
import { type A2aAgent, definedAgent, registeredAgent } from './a2a.agent.js';
import { cardOf, skillsOf } from './agent.card.js';
import { OWN_SKILLS, ROLLCALL_ABOUT as ABOUT } from './own.skills.js';
import { PublicUrl } from './public.url.js';

/** The extended card of Rollcall lists the capabilities of at most this many agents. */
const MAX_AGENTS = 200;
const NAME = 'Rollcall';

/** Finds the agents that A2A clients address, and builds their cards from the live records. */
@Injectable()
export class A2aAgents {
  constructor(
    private readonly lookup: AgentLookup,
    private readonly agents: AgentsService,
    private readonly urls: PublicUrl,
  ) {}

  /** Rollcall itself. Its extended card lists the capabilities of the agents of the namespace. */
  rollcall(namespace: string): A2aAgent {
    return { agentId: null, card: this.publicCard(), extended: async () => await this.extendedCard(namespace) };
  }

  /** The card of Rollcall that requires no credential. */
  publicCard(): AgentCard {
    return this.rollcallCard(OWN_SKILLS);
  }

  /** Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<A2aAgent> {
    const { record, definition } = await this.lookup.get(namespace, agentId);
    const url = this.urlOf(agentId);
    return record ? registeredAgent(record, url, definition) : definedAgent(definition, url);
  }

  /** Also finds an agent that has left, because its tasks can still be read. Rejects with AGENT_NOT_FOUND. */
  async getWithTasks(namespace: string, agentId: string): Promise<A2aAgent> {
    try {
      return await this.get(namespace, agentId);
    } catch (error) {
      if (!(error instanceof AgentNotFoundError)) throw error;
      return await this.getLeft(namespace, agentId);
    }
  }

  private async getLeft(namespace: string, agentId: string): Promise<A2aAgent> {
    const gone = new AgentNotFoundError(agentId);
    const record = await this.agents.get(qualifiedId(namespace, agentId)).catch((error: unknown) => {
      throw error instanceof AgentNotFoundError ? gone : error;
    });
    const extended = async (): Promise<AgentCard> => await Promise.reject(gone);
    return { ...registeredAgent(record, this.urlOf(agentId)), extended, hasLeft: true };
  }

  private urlOf(agentId: string): string {
    return this.urls.of(`/a2a/agents/${encodeURIComponent(agentId)}`);
  }

  private async extendedCard(namespace: string): Promise<AgentCard> {
    const listed = await this.agents.list(MAX_AGENTS, undefined, { namespace });
    const capabilities = [...new Set(listed.flatMap((agent) => agent.capabilities))].toSorted();
    const found = capabilities.length > 0 ? skillsOf(capabilities, { name: NAME, description: ABOUT }) : [];
    return this.rollcallCard([...OWN_SKILLS, ...found]);
  }

  private rollcallCard(skills: readonly AgentSkill[]): AgentCard {
    return cardOf({ name: NAME, description: ABOUT, version: VERSION, url: this.urls.of('/a2a'), skills });
  }
}
