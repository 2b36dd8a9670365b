import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AgentProviderRegistry } from '#rollcall/providers';
import { AgentNameStore } from '../definitions/agent-name.store.js';
import { DefinitionNameInvalidError } from '../definitions/definition.errors.js';
import { type DefinitionKey, isDefinitionName } from '../definitions/definition.js';
import { DefinitionValidator } from '../definitions/definition.validator.js';
import { DefinitionsService } from '../definitions/definitions.service.js';
import { AgentHost } from './agent.host.js';
import type { Blueprint, HostedAgent } from './hosted.agent.js';
import { AgentExistsError, AgentNameReservedError, SpawnInvalidError } from './lifecycle.errors.js';
import { LifecycleLog } from './lifecycle.log.js';
import { AgentRegistrar } from './registration/agent.registrar.js';
import { SpawnGate } from './spawn.gate.js';
import { type AgentInfo, SpawnedAgent } from './spawned.agent.js';

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

interface SpawnPlan {
  key: DefinitionKey;
  definition: string | null;
  by: string;
  blueprint(): Promise<Blueprint>;
}

/** An agent that is built, but not a member of the registry yet. One of the methods must be called. */
export interface PreparedSpawn {
  /** Registers the agent, in the open transaction if there is one. */
  commit(): Promise<AgentInfo>;
  /** Closes the agent, because it was not committed. */
  discard(): Promise<void>;
}

const DISCARD_MS = 10_000;

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
    const blueprint = await this.blueprintOf(namespace, definition, content);
    if (chosen !== definition && (await this.definitions.has(key))) throw new AgentNameReservedError(chosen);
    if (await this.names.isLive(key)) throw new AgentExistsError(chosen);
    return { key, definition: definition ?? null, by, blueprint };
  }

  private async blueprintOf(
    namespace: string,
    definition: string | undefined,
    content: unknown,
  ): Promise<() => Promise<Blueprint>> {
    if (definition !== undefined) return async () => await this.definitions.get({ namespace, name: definition });
    const checked = await this.validator.strict(content, namespace);
    return async () => await Promise.resolve({ content: checked, revision: null });
  }
}

/**
 * Spawns agents. The agent is built before it is registered, so that an agent in the registry can be called, and errors of its provider
 * reach the caller unchanged (S1.1). If two spawns have the same name, the registry accepts one, and the agent of the other is closed
 * (S1.2).
 */
@Injectable()
export class AgentSpawner {
  readonly gate = new SpawnGate();

  constructor(
    private readonly db: Database,
    private readonly host: AgentHost,
    private readonly registrar: AgentRegistrar,
    private readonly plans: SpawnPlans,
    private readonly providers: AgentProviderRegistry,
  ) {}

  async spawn(request: SpawnRequest): Promise<AgentInfo> {
    const prepared = await this.prepare(request);
    try {
      return await this.db.transaction(prepared.commit);
    } catch (error) {
      await prepared.discard();
      throw error;
    }
  }

  async prepare(request: SpawnRequest): Promise<PreparedSpawn> {
    this.gate.check(request.namespace);
    const plan = await this.plans.of(request);
    const hosted = this.host.create(plan.key, plan.blueprint);
    const { blueprint } = await hosted.instance();
    let leave = (): void => undefined;
    return {
      commit: async () => {
        leave = this.gate.enter(plan.key.namespace);
        const agent = await this.register(plan, hosted, blueprint);
        this.db.afterCommit(() => {
          this.admit(agent);
          leave();
        });
        return agent.info;
      },
      discard: async () => {
        leave();
        await hosted.close(DISCARD_MS);
      },
    };
  }

  private async register(
    { key, definition, by }: SpawnPlan,
    hosted: HostedAgent,
    blueprint: Blueprint,
  ): Promise<SpawnedAgent> {
    const { provider } = blueprint.content;
    const facts = {
      ...key,
      definition,
      revision: blueprint.revision,
      provider,
      agentType: this.providers.get(provider).agentType,
      replicaId: this.host.replicaId,
      spawnedBy: by,
    };
    const { spawnedAt, ...membership } = await this.registrar.join(facts, blueprint.content);
    const agent = new SpawnedAgent({ ...facts, spawnedAt: spawnedAt.toISOString() }, hosted, membership);
    agent.isOutdated = definition !== null; // the definition may have changed since it was read
    return agent;
  }

  private admit(agent: SpawnedAgent): void {
    this.host.admit(agent);
    LifecycleLog.spawned(agent.facts);
  }
}
