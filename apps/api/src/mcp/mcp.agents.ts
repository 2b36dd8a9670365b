import { Injectable } from '@nestjs/common';
import { DefinitionFacts, type Definition, type RunTarget } from '#rollcall/agent-runtime';
import type { AgentRecord } from '#rollcall/registry';
import { AgentLookup, descriptionOf } from '../agents/discovery/agent.lookup.js';

/** An agent that a client can run: a registered agent, or a definition from which Rollcall builds an agent when a run needs it. */
export interface McpAgent {
  readonly agentId: string;
  readonly name: string;
  readonly description: string;
  readonly target: RunTarget;
  /** The facts that the client may read. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Finds the agents that MCP clients address. */
@Injectable()
export class McpAgents {
  constructor(
    private readonly lookup: AgentLookup,
    private readonly facts: DefinitionFacts,
  ) {}

  /** Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<McpAgent> {
    const { record, definition } = await this.lookup.get(namespace, agentId);
    return record ? registered(record, definition) : defined(definition, this.facts);
  }
}

function registered(record: AgentRecord, definition: Definition | undefined): McpAgent {
  const { agentId, name } = record;
  const description = descriptionOf(record, definition?.content.description);
  return { agentId, name, description, target: { agent: agentId }, facts: { description, ...record } };
}

function defined({ namespace, name, revision, content }: Definition, known: DefinitionFacts): McpAgent {
  const { description } = content;
  const facts = {
    agentId: name,
    name,
    description,
    definition: `${name}@${revision}`,
    capabilities: known.capabilitiesOf(namespace, content),
    status: 'defined',
  };
  return { agentId: name, name, description, target: { definition: name }, facts };
}
