import type { AgentCard, AgentSkill } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { DefinitionsService } from '#rollcall/agent-runtime';
import { qualifiedId } from '#rollcall/platform';
import { AgentNotFoundError, AgentsService, Directory, DirectoryFollower } from '#rollcall/registry';
import { VERSION } from '../version.js';
import { type A2aAgent, definedAgent, registeredAgent } from './a2a.agent.js';
import { cardOf, skillsOf } from './agent.card.js';
import { OWN_SKILLS, ROLLCALL_ABOUT as ABOUT } from './own.skills.js';
import { PublicUrl } from './public.url.js';

/** How many agents the extended card of Rollcall considers. */
const MAX_AGENTS = 200;
const NAME = 'Rollcall';

/** Finds the agents that A2A clients address, and builds their cards from the live records. */
@Injectable()
export class A2aAgents {
  constructor(
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly agents: AgentsService,
    private readonly definitions: DefinitionsService,
    private readonly urls: PublicUrl,
  ) {}

  /** Rollcall itself. Its extended card lists the capabilities of the agents of the namespace. */
  rollcall(namespace: string): A2aAgent {
    return { agentId: null, card: this.publicCard(), extended: async () => await this.extendedCard(namespace) };
  }

  /** The card of Rollcall for everybody. */
  publicCard(): AgentCard {
    return this.rollcallCard(OWN_SKILLS);
  }

  /** Rejects with AGENT_NOT_FOUND. */
  async find(namespace: string, agentId: string): Promise<A2aAgent> {
    await this.follower.refresh();
    const record = this.directory.find(qualifiedId(namespace, agentId))?.record;
    const definition = await this.definitions.find({ namespace, name: nameOf(record?.definition) ?? agentId });
    const url = this.urlOf(agentId);
    if (record) return registeredAgent(record, url, definition);
    if (definition) return definedAgent(definition, url);
    throw new AgentNotFoundError(agentId);
  }

  /** Also finds an agent that has left, for its tasks. Rejects with AGENT_NOT_FOUND. */
  async findWithTasks(namespace: string, agentId: string): Promise<A2aAgent> {
    try {
      return await this.find(namespace, agentId);
    } catch (error) {
      if (!(error instanceof AgentNotFoundError)) throw error;
      return await this.findLeft(namespace, agentId);
    }
  }

  private async findLeft(namespace: string, agentId: string): Promise<A2aAgent> {
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

/** The name in `name@revision`. */
function nameOf(definition: string | null | undefined): string | undefined {
  return definition?.split('@')[0];
}
