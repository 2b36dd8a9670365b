import { Injectable } from '@nestjs/common';
import { type Definition, definitionName, DefinitionsService, NamedAgents } from '#rollcall/agent-runtime';
import type { AgentRecord } from '#rollcall/registry';

/** An agent that clients can address: a registered one, or a definition that Rollcall builds when a run needs it. */
type KnownAgent =
  | { readonly record: AgentRecord; readonly definition: Definition | undefined }
  | { readonly record: undefined; readonly definition: Definition };

/** Finds the agents that clients of A2A and MCP address, and what describes them. `NamedAgents` decides what a name means. */
@Injectable()
export class AgentLookup {
  constructor(
    private readonly names: NamedAgents,
    private readonly definitions: DefinitionsService,
  ) {}

  /** A definition describes only agents that are built from it (S-1). Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<KnownAgent> {
    const { definition, record } = await this.names.get({ namespace, name: agentId });
    if (definition) return { record, definition };
    const label = record.definition;
    if (label === null || declaredDescription(record) !== undefined) return { record, definition: undefined };
    return { record, definition: await this.definitions.find({ namespace, name: definitionName(label) }) };
  }
}

/** The description in the card of the owner, `defined` in the definition of the agent, or a description made from the name. */
export function descriptionOf(record: AgentRecord, defined?: string): string {
  return declaredDescription(record) ?? defined ?? `The agent ${record.name}, registered at Rollcall.`;
}

function declaredDescription({ agentCard }: AgentRecord): string | undefined {
  const declared = agentCard?.['description'];
  return typeof declared === 'string' && declared.trim() !== '' ? declared : undefined;
}
