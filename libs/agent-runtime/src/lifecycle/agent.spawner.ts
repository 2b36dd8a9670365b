import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AgentProviderRegistry } from '#rollcall/providers';
import { AgentHost } from './agent.host.js';
import type { AgentInfo } from './agent.info.js';
import type { Blueprint } from './agent.instance.js';
import { AgentRegistrar } from './agent.registrar.js';
import type { HostedAgent } from './hosted.agent.js';
import { LifecycleLog } from './lifecycle.log.js';
import { SpawnGate } from './spawn.gate.js';
import { type SpawnPlan, SpawnPlans, type SpawnRequest } from './spawn.plans.js';
import { SpawnedAgent } from './spawned.agent.js';

/** An agent that is built, but not a member of the registry yet. One of the methods must be called. */
export interface PreparedSpawn {
  /** Registers the agent, in the open transaction if there is one. */
  commit(): Promise<AgentInfo>;
  /** Closes the agent, because it was not committed. */
  discard(): Promise<void>;
}

const DISCARD_MS = 10_000;

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
