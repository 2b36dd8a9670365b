import type { AgentCard, AgentSkill } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { DefinitionFacts, type Definition, type RunTarget } from '#rollcall/agent-runtime';
import { qualifiedId } from '#rollcall/platform';
import { AgentNotFoundError, type AgentRecord, AgentsService } from '#rollcall/registry';
import { AgentLookup, descriptionOf } from '../../agents/discovery/agent.lookup.js';
import { VERSION, versionOf } from '../../version.js';
import { cardOf, skill, skillsOf } from './agent.card.js';
import { PublicUrl } from '../../http/public.url.js';

/** The extended card of Rollcall lists the capabilities of at most this many agents. */
const MAX_AGENTS = 200;
const NAME = 'Rollcall';

const ROLLCALL_ABOUT =
  'Registry and runtime for agents. Sends a message to the agent that `tenant` names. Without `tenant`, the best agent with the ' +
  'capabilities in the metadata of the message gets it, or the default agent.';

const JSON_MODES = { inputModes: ['application/json'], outputModes: ['application/json'] };

/** The skills of Rollcall itself. `messages/root.skills.ts` has the same ids. */
const OWN_SKILLS: readonly AgentSkill[] = [
  skill('route', 'Send work to an agent', ROLLCALL_ABOUT, ['routing', 'agents']),
  {
    ...skill('register', 'Register an agent', 'Registers an agent, as POST /v1/agents does.', ['registry', 'agents']),
    ...JSON_MODES,
    examples: [
      '{"skill": "register", "input": {"agentId": "builder-1", "name": "builder", "capabilities": ["build"]}}',
    ],
  },
  {
    ...skill('query', 'Find agents', 'Ranks agents by capability, health and cost, as POST /v1/agents/query does.', [
      'discovery',
      'agents',
    ]),
    ...JSON_MODES,
    examples: ['{"skill": "query", "input": {"capabilities": ["build"], "prefer": "cheapest"}}'],
  },
  {
    ...skill('announce', 'Announce a contract', 'Lets agents bid for a task, as POST /v1/contracts does.', [
      'contract-net',
      'agents',
    ]),
    ...JSON_MODES,
    examples: ['{"skill": "announce", "input": {"capabilities": ["build"], "task": "Build the site."}}'],
  },
];

/** An agent as A2A clients address it: Rollcall itself, or one agent of the namespace. */
export interface AddressedAgent {
  /** Null: Rollcall itself, which chooses an agent for each message. */
  readonly agentId: string | null;
  readonly card: AgentCard;
  /** The card for callers that may read the details of the agent. */
  extended(): Promise<AgentCard>;
  /** Absent for Rollcall itself, where each message selects its own target. */
  readonly target?: RunTarget;
  /** The agent has left the registry. It has no card and gets no new work, but its tasks stay. */
  readonly hasLeft?: true;
}

/** Finds the agents that A2A clients address, and builds their cards from the live records. */
@Injectable()
export class A2aAgents {
  constructor(
    private readonly lookup: AgentLookup,
    private readonly agents: AgentsService,
    private readonly urls: PublicUrl,
    private readonly facts: DefinitionFacts,
  ) {}

  /** Rollcall itself. Its extended card lists the capabilities of the agents of the namespace. */
  rollcall(namespace: string): AddressedAgent {
    return { agentId: null, card: this.publicCard(), extended: async () => await this.extendedCard(namespace) };
  }

  /** The card of Rollcall that requires no credential. */
  publicCard(): AgentCard {
    return this.rollcallCard(OWN_SKILLS);
  }

  /** Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<AddressedAgent> {
    const { record, definition } = await this.lookup.get(namespace, agentId);
    const url = this.urlOf(agentId);
    return record
      ? registeredAgent(record, url, definition)
      : definedAgent(definition, url, this.facts.capabilitiesOf(namespace, definition.content));
  }

  /** Also finds an agent that has left, because its tasks can still be read. Rejects with AGENT_NOT_FOUND. */
  async getWithTasks(namespace: string, agentId: string): Promise<AddressedAgent> {
    try {
      return await this.get(namespace, agentId);
    } catch (error) {
      if (!(error instanceof AgentNotFoundError)) throw error;
      return await this.getLeft(namespace, agentId);
    }
  }

  private async getLeft(namespace: string, agentId: string): Promise<AddressedAgent> {
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
    const found = capabilities.length > 0 ? skillsOf(capabilities, { name: NAME, description: ROLLCALL_ABOUT }) : [];
    return this.rollcallCard([...OWN_SKILLS, ...found]);
  }

  private rollcallCard(skills: readonly AgentSkill[]): AgentCard {
    return cardOf({ name: NAME, description: ROLLCALL_ABOUT, version: VERSION, url: this.urls.of('/a2a'), skills });
  }
}

/** An agent of the registry. If Rollcall runs the agent, its definition may supply the description. */
function registeredAgent(record: AgentRecord, url: string, definition?: Definition): AddressedAgent {
  const { agentId, name, version, capabilities } = record;
  const description = descriptionOf(record, definition?.content.description);
  const live = liveFacts(record);
  const facts = { name, description, url, version: versionOf(version) };
  const skills = skillsOf(capabilities, { name, description });
  return {
    agentId,
    card: cardOf({ ...facts, skills, live }),
    extended: async () => await Promise.resolve(cardOf({ ...facts, skills, live: { ...live, ...details(record) } })),
    target: { agent: agentId },
  };
}

/** An agent that exists only as a definition. Rollcall builds it when a run needs it. */
function definedAgent({ name, revision, content }: Definition, url: string, capabilities: string[]): AddressedAgent {
  const { description } = content;
  const live = { health: { status: 'active' }, definition: `${name}@${revision}` };
  const skills = skillsOf(capabilities, { name, description });
  const card = cardOf({ name, description, url, version: String(revision), skills, live });
  return { agentId: name, card, extended: async () => await Promise.resolve(card), target: { definition: name } };
}

function liveFacts({ status, health, load, costModel }: AgentRecord): Record<string, unknown> {
  return {
    price: costModel,
    health: { status, circuit: health.circuitBreakerState, consecutiveFailures: health.consecutiveFailures },
    load,
  };
}

function details({ provider, budget, latency, labels, sandboxLevel, definition, agentCard }: AgentRecord): object {
  return { provider, budget, latency, labels, sandboxLevel, definition, ...(agentCard && { agentCard }) };
}
