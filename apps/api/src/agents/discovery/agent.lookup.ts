import { Injectable } from '@nestjs/common';
import { type Definition, DefinitionsService } from '#rollcall/agent-runtime';
import { qualifiedId } from '#rollcall/platform';
import { AgentNotFoundError, type AgentRecord, Directory, DirectoryFollower } from '#rollcall/registry';

/** An agent that clients can address: a registered one, or a definition that Rollcall builds when a run needs it. */
type KnownAgent =
  | { readonly record: AgentRecord; readonly definition: Definition | undefined }
  | { readonly record: undefined; readonly definition: Definition };

/** Finds agents by id, for all protocols. */
@Injectable()
export class AgentLookup {
  constructor(
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly definitions: DefinitionsService,
  ) {}

  /** The definition of a registered agent is read only if it describes the agent. Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<KnownAgent> {
    await this.follower.refresh();
    const record = this.directory.find(qualifiedId(namespace, agentId))?.record;
    if (record && hasOwnDescription(record)) return { record, definition: undefined };
    const name = record?.definition ? definitionName(record.definition) : agentId;
    const definition = await this.definitions.find({ namespace, name });
    if (record) return { record, definition };
    if (definition) return { record, definition };
    throw new AgentNotFoundError(agentId);
  }
}

/** The name in `name@revision`. */
export function definitionName(definition: string): string {
  return definition.split('@')[0] ?? '';
}

/** The description in the card of the owner, `defined` in the definition of the agent, or a description made from the name. */
export function descriptionOf(record: AgentRecord, defined?: string): string {
  return declaredDescription(record) ?? defined ?? `The agent ${record.name}, registered at Rollcall.`;
}

/** A definition describes only agents that Rollcall runs and that do not describe themselves. */
function hasOwnDescription(record: AgentRecord): boolean {
  const isExternal = record.definition === null && record.endpoint !== null;
  return isExternal || declaredDescription(record) !== undefined;
}

function declaredDescription({ agentCard }: AgentRecord): string | undefined {
  const declared = agentCard?.['description'];
  return typeof declared === 'string' && declared.trim() !== '' ? declared : undefined;
}
