import { Injectable } from '@nestjs/common';
import { type Definition, DefinitionsService } from '#rollcall/agent-runtime';
import { qualifiedId } from '#rollcall/platform';
import { AgentNotFoundError, type AgentRecord, Directory, DirectoryFollower } from '#rollcall/registry';

/** An agent that clients can address: a registered one, or a definition that Rollcall builds when a run needs it. */
export type KnownAgent =
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

  /** Rejects with AGENT_NOT_FOUND. */
  async get(namespace: string, agentId: string): Promise<KnownAgent> {
    await this.follower.refresh();
    const record = this.directory.find(qualifiedId(namespace, agentId))?.record;
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
export function descriptionOf({ name, agentCard }: AgentRecord, defined?: string): string {
  const declared = agentCard?.['description'];
  if (typeof declared === 'string' && declared.trim() !== '') return declared;
  return defined ?? `The agent ${name}, registered at Rollcall.`;
}
