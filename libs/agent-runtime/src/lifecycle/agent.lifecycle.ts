import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { DefinitionNotFoundError } from '../definitions/definition.errors.js';
import type { DefinitionKey } from '../definitions/definition.js';
import { AgentHost } from './agent.host.js';
import { AgentSpawner, type PreparedSpawn, type SpawnRequest } from './agent.spawner.js';
import { type AgentHosting, type AgentUse, HostedAgents, type UseOptions } from './hosted.agents.js';
import { AgentHostedElsewhereError, AgentNotHostedError, AgentShutdownFailedError } from './lifecycle.errors.js';
import { AgentBeats } from './registration/agent.beats.js';
import { type AgentInfoFilter, RuntimeAgentStore } from './registration/runtime-agent.store.js';
import { AgentShutdowns } from './shutdown/agent.shutdowns.js';
import type { AgentShutdown, ShutdownReport } from './shutdown/shutdown.report.js';
import { type AgentInfo, toInfo } from './spawned.agent.js';

/** Spawns, finds, lists and shuts down the agents of all replicas (S1.1–S1.6). */
@Injectable()
export class AgentLifecycle extends HostedAgents {
  constructor(
    private readonly host: AgentHost,
    private readonly spawner: AgentSpawner,
    private readonly beats: AgentBeats,
    private readonly store: RuntimeAgentStore,
    private readonly shutdowns: AgentShutdowns,
  ) {
    super();
  }

  get replicaId(): string {
    return this.host.replicaId;
  }

  async spawn(request: SpawnRequest): Promise<AgentInfo> {
    return await this.spawner.spawn(request);
  }

  /** Builds the agent without registering it, for a caller that registers it in its own transaction. */
  async prepareSpawn(request: SpawnRequest): Promise<PreparedSpawn> {
    return await this.spawner.prepare(request);
  }

  async use(key: DefinitionKey, options?: UseOptions): Promise<AgentUse> {
    try {
      return await this.host.use(key, options);
    } catch (error) {
      const hosting = error instanceof DefinitionNotFoundError ? await this.find(key) : undefined;
      const isElsewhere = hosting && hosting.replicaId !== this.replicaId && hosting.definition !== key.name;
      throw isElsewhere ? new AgentHostedElsewhereError(key.name, hosting.replicaId) : error;
    }
  }

  async find({ namespace, name }: DefinitionKey): Promise<AgentHosting | undefined> {
    return await this.store.find(qualifiedId(namespace, name));
  }

  async get(key: DefinitionKey): Promise<AgentInfo> {
    const here = this.host.find(key);
    if (here) return here.info;
    const row = await this.store.find(qualifiedId(key.namespace, key.name));
    if (!row) throw new AgentNotHostedError(key.name);
    return toInfo(row);
  }

  async has(key: DefinitionKey): Promise<boolean> {
    return (await this.find(key)) !== undefined;
  }

  /** Sorted by name; `after` is the last name of the previous page. */
  async list(namespace: string, limit: number, after?: string, filter?: AgentInfoFilter): Promise<AgentInfo[]> {
    await this.beats.publish();
    return (await this.store.page(namespace, limit, after, filter)).map(toInfo);
  }

  /** Removes the agent even if it fails to close. In that case, the failure is thrown after the removal (S1.5). */
  async shutdown(key: DefinitionKey, limitMs?: number): Promise<void> {
    const report = await this.stop(key, limitMs);
    if (report.error !== null) throw new AgentShutdownFailedError(key.name, report);
  }

  /** Like `shutdown`, but returns how the shutdown ended. */
  async stop(key: DefinitionKey, limitMs = this.host.options.shutdownMs): Promise<AgentShutdown> {
    return await this.shutdowns.one(key, limitMs);
  }

  /** Shuts down all agents of the namespace, on all replicas. If one shutdown fails, the others continue (S1.6). */
  async shutdownAll(namespace: string, limitMs = this.host.options.shutdownMs): Promise<ShutdownReport> {
    return await this.shutdowns.all(namespace, limitMs);
  }
}
