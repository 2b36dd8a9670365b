import { Injectable } from '@nestjs/common';
import { AgentNameStore } from '../definitions/agent-name.store.js';
import { DefinitionNameInvalidError } from '../definitions/definition.errors.js';
import { type DefinitionKey, isDefinitionName } from '../definitions/definition.js';
import { DefinitionValidator } from '../definitions/definition.validator.js';
import { DefinitionsService } from '../definitions/definitions.service.js';
import type { Blueprint } from './agent.instance.js';
import { AgentExistsError, AgentNameReservedError, SpawnInvalidError } from './lifecycle.errors.js';

/** Exactly one of `definition` and `content` is given. */
export interface SpawnRequest {
  namespace: string;
  /** If absent, the name of the definition. */
  name?: string;
  definition?: string;
  /** A configuration without a definition. Checked by `DefinitionValidator`. */
  content?: unknown;
  /** The principal that owns the agent. */
  by: string;
}

export interface SpawnPlan {
  key: DefinitionKey;
  definition: string | null;
  by: string;
  blueprint(): Promise<Blueprint>;
}

/** Decides what a spawn request means, and rejects names that are taken before anything is built. */
@Injectable()
export class SpawnPlans {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly validator: DefinitionValidator,
    private readonly names: AgentNameStore,
  ) {}

  async of({ namespace, name, definition, content, by }: SpawnRequest): Promise<SpawnPlan> {
    if ((definition === undefined) === (content === undefined))
      throw new SpawnInvalidError('Send either the name of a definition or a content, not both.');
    const chosen = name ?? definition;
    if (chosen === undefined) throw new SpawnInvalidError('An agent without a definition needs a name.');
    if (!isDefinitionName(chosen)) throw new DefinitionNameInvalidError(chosen, 'an agent');
    const key = { namespace, name: chosen };
    const blueprint = this.blueprintOf(namespace, definition, content);
    if (chosen !== definition && (await this.definitions.has(key))) throw new AgentNameReservedError(chosen);
    if (await this.names.isLive(key)) throw new AgentExistsError(chosen);
    return { key, definition: definition ?? null, by, blueprint };
  }

  private blueprintOf(namespace: string, definition: string | undefined, content: unknown): () => Promise<Blueprint> {
    if (definition !== undefined) return async () => await this.definitions.get({ namespace, name: definition });
    const checked = this.validator.strict(content, namespace);
    return async () => await Promise.resolve({ content: checked, revision: null });
  }
}
