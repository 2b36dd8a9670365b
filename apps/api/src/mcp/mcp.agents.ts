import { Injectable } from '@nestjs/common';
import { capabilitiesOf, type Definition, DefinitionsService, type RunTarget } from '#rollcall/agent-runtime';
import { qualifiedId } from '#rollcall/platform';
import { AgentNotFoundError, type AgentRecord, Directory, DirectoryFollower } from '#rollcall/registry';

/** An agent that a client can run: a registered one, or a definition that Rollcall builds when a run needs it. */
export interface McpAgent {
  readonly agentId: string;
  readonly name: string;
  readonly description: string;
  readonly target: RunTarget;
  /** What the client may know about it. */
  readonly facts: Readonly<Record<string, unknown>>;
}

@Injectable()
export class McpAgents {
  constructor(
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly definitions: DefinitionsService,
  ) {}

  /** Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<McpAgent> {
    await this.follower.refresh();
    const record = this.directory.find(qualifiedId(namespace, agentId))?.record;
    const definition = await this.definitions.find({ namespace, name: nameOf(record?.definition) ?? agentId });
    if (record) return registered(record, definition);
    if (definition) return defined(definition);
    throw new AgentNotFoundError(agentId);
  }
}

function registered(record: AgentRecord, definition: Definition | undefined): McpAgent {
  const { agentId, name } = record;
  const description = descriptionOf(record, definition);
  return { agentId, name, description, target: { agent: agentId }, facts: { description, ...record } };
}

function defined({ name, revision, content }: Definition): McpAgent {
  const { description } = content;
  const facts = {
    agentId: name,
    name,
    description,
    definition: `${name}@${revision}`,
    capabilities: capabilitiesOf(content),
    status: 'defined',
  };
  return { agentId: name, name, description, target: { definition: name }, facts };
}

function descriptionOf({ name, agentCard }: AgentRecord, definition: Definition | undefined): string {
  const declared = agentCard?.['description'];
  if (typeof declared === 'string' && declared.trim() !== '') return declared;
  return definition?.content.description ?? `The agent ${name}, registered at Rollcall.`;
}

/** The name in `name@revision`. */
function nameOf(definition: string | null | undefined): string | undefined {
  return definition?.split('@')[0];
}
