import type { AgentCard } from '@a2a-js/sdk';
import { capabilitiesOf, type Definition, type RunTarget } from '#rollcall/agent-runtime';
import type { AgentRecord } from '#rollcall/registry';
import { descriptionOf } from '../agents/discovery/agent.lookup.js';
import { cardOf, skillsOf } from './agent.card.js';

/** An agent as A2A clients address it: Rollcall itself, or one agent of the namespace. */
export interface A2aAgent {
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

/** An agent of the registry. If Rollcall runs the agent, its definition may supply the description. */
export function registeredAgent(record: AgentRecord, url: string, definition?: Definition): A2aAgent {
  const { agentId, name, version, capabilities } = record;
  const description = descriptionOf(record, definition?.content.description);
  const live = liveFacts(record);
  const facts = { name, description, url, version: version ?? 'unversioned' };
  const skills = skillsOf(capabilities, { name, description });
  return {
    agentId,
    card: cardOf({ ...facts, skills, live }),
    extended: async () => await Promise.resolve(cardOf({ ...facts, skills, live: { ...live, ...details(record) } })),
    target: { agent: agentId },
  };
}

/** An agent that exists only as a definition. Rollcall builds it when a run needs it. */
export function definedAgent({ name, revision, content }: Definition, url: string): A2aAgent {
  const { description } = content;
  const live = { health: { status: 'active' }, definition: `${name}@${revision}` };
  const skills = skillsOf(capabilitiesOf(content), { name, description });
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
