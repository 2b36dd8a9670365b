import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  AgentNotFoundError,
  type AgentRecord,
  Directory,
  type DirectoryEntry,
  DirectoryFollower,
  type Exclusion,
  operatorIntent,
  RegistryClock,
  routability,
  StrongReader,
} from '#rollcall/registry';
import { AgentNameStore } from './agent-name.store.js';
import type { Definition, DefinitionKey } from './definition.js';
import { DefinitionStore, toDefinition } from './definition.store.js';

/** A definition, which Rollcall runs. */
export interface DefinedAgent {
  readonly definition: Definition;
  /** The live agent that was spawned from it; undefined if there is none. */
  readonly record: AgentRecord | undefined;
  /** Why the agent gets no new work; empty if it gets work. */
  readonly exclusions: readonly Exclusion[];
}

/** An agent of the registry without a definition of its name: an external agent, or one that was spawned from other content. */
export interface RegisteredAgent {
  readonly definition?: undefined;
  readonly record: AgentRecord;
  readonly exclusions: readonly Exclusion[];
}

export type AgentMeaning = DefinedAgent | RegisteredAgent;

/** No agentId contains a control character, and Postgres rejects some of them. */
const CONTROL = /\p{Cc}/u;

/**
 * Decides what the name of an agent means, for every protocol and for delegations, contracts and catalogs (S-1). A name means the
 * definition of this name, if there is one. Otherwise it means the live agent of the registry. So an agent that has the name of a
 * definition, but was not spawned from it, gets no work under that name.
 *
 * A definition gets no work while an operator drains or quarantines the agent of its name, whether or not the agent is spawned. The
 * state of a registered agent, such as its circuit, has no effect on its definition: Rollcall can build the agent again.
 */
@Injectable()
export class NamedAgents {
  constructor(
    private readonly definitions: DefinitionStore,
    private readonly names: AgentNameStore,
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly reader: StrongReader,
  ) {}

  /** Rejects with AGENT_NOT_FOUND. */
  async get(key: DefinitionKey): Promise<AgentMeaning> {
    const named = await this.find(key);
    if (!named) throw new AgentNotFoundError(key.name);
    return named;
  }

  /** The name may be any text. An agent that the directory of this replica does not contain yet is read from Postgres. */
  async find(key: DefinitionKey): Promise<AgentMeaning | undefined> {
    const [found] = await Promise.all([this.definitions.findNamed(key.namespace, key.name), this.follower.refresh()]);
    const id = qualifiedId(key.namespace, key.name);
    if (found) {
      const { desiredState, ...row } = found;
      const record = this.directory.find(id)?.record;
      return {
        definition: toDefinition(row),
        record: record && isBuiltFrom(record, key.name) ? record : undefined,
        exclusions: exclusionsOf(operatorIntent(desiredState)),
      };
    }
    if (!this.directory.find(id) && !CONTROL.test(id)) await this.reader.read(id);
    const entry = this.directory.find(id);
    return entry && { record: entry.record, exclusions: this.exclusionsOf(entry) };
  }

  /** Those of the records that their names mean. The others have the name of a definition that they were not spawned from. */
  async meant<One extends Pick<AgentRecord, 'namespace' | 'agentId' | 'definition'>>(
    records: readonly One[],
  ): Promise<One[]> {
    const candidates = records.filter((record) => !isBuiltFrom(record, record.agentId));
    const reserved = new Set(await this.names.definedAmong(candidates.map(idOf)));
    return records.filter((record) => isBuiltFrom(record, record.agentId) || !reserved.has(idOf(record)));
  }

  private exclusionsOf(entry: DirectoryEntry): readonly Exclusion[] {
    return routability(entry, this.directory.advance(this.clock.now()));
  }
}

/** The name in `name@revision`. */
export function definitionName(label: string): string {
  return label.split('@')[0] ?? '';
}

/** Only the runtime writes `definition`, so no registration can claim to be built from a definition. */
function isBuiltFrom({ definition }: Pick<AgentRecord, 'definition'>, name: string): boolean {
  return definition !== null && definitionName(definition) === name;
}

function idOf({ namespace, agentId }: Pick<AgentRecord, 'namespace' | 'agentId'>): string {
  return qualifiedId(namespace, agentId);
}

function exclusionsOf(intent: Exclusion | undefined): readonly Exclusion[] {
  return intent ? [intent] : [];
}
