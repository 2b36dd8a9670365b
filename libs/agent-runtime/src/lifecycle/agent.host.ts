import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { BackgroundFaults, qualifiedId } from '#rollcall/platform';
import { AgentBuilder } from '../definitions/agent.builder.js';
import { DefinitionNotFoundError } from '../definitions/definition.errors.js';
import type { DefinitionKey } from '../definitions/definition.js';
import { DefinitionsService } from '../definitions/definitions.service.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { type Blueprint, HostedAgent } from './hosted.agent.js';
import type { AgentUse, PinnedRevision, UseOptions } from './hosted.agents.js';
import { LifecycleLog } from './lifecycle.log.js';
import { LIFECYCLE_OPTIONS, type LifecycleOptions } from './lifecycle.options.js';
import { AgentRegistrar } from './registration/agent.registrar.js';
import type { ShutdownDetail } from './shutdown/shutdown.report.js';
import type { SpawnedAgent } from './spawned.agent.js';

/**
 * The agents of this replica. A spawned agent is a member of the registry. For any other definition, an agent is built on first use. It
 * is cached on this replica and not registered, so other replicas may have their own.
 */
@Injectable()
export class AgentHost {
  readonly replicaId = randomUUID();
  private readonly members = new Map<string, SpawnedAgent>();
  private readonly cached = new Map<string, HostedAgent>();
  /** Agents whose definition was removed, and whose calls have not ended. */
  private readonly leaving = new Set<HostedAgent>();

  constructor(
    private readonly definitions: DefinitionsService,
    private readonly builder: AgentBuilder,
    private readonly registrar: AgentRegistrar,
    private readonly faults: BackgroundFaults,
    skills: SkillLibrary,
    @Inject(LIFECYCLE_OPTIONS) readonly options: LifecycleOptions,
  ) {
    definitions.onChanged((namespace, name) => this.renew({ namespace, name }));
    skills.onChanged(() => this.renewAll());
  }

  get spawned(): SpawnedAgent[] {
    return [...this.members.values()];
  }

  find({ namespace, name }: DefinitionKey): SpawnedAgent | undefined {
    return this.members.get(qualifiedId(namespace, name));
  }

  /** Uses the spawned agent of this name, or else the agent of the definition. */
  async use(key: DefinitionKey, { pinned, waits = false }: UseOptions = {}): Promise<AgentUse> {
    const canBuild = pinned && (pinned.name === key.name || this.find(key));
    return canBuild ? await this.useRevision(key, pinned, waits) : await this.useCurrent(key, waits);
  }

  /** Creates the hosted agent of a name. Its instance is not built yet. */
  create(key: DefinitionKey, blueprint: () => Promise<Blueprint>): HostedAgent {
    const { namespace, name } = key;
    const { drainMs, shutdownMs: closeMs } = this.options;
    return new HostedAgent({
      blueprint,
      build: async (content) => await this.builder.build(name, content, { namespace }),
      drainMs,
      closeMs,
      onRetired: (detail) => LifecycleLog.closed({ namespace, name }, detail),
    });
  }

  /** From now on, calls use the spawned agent. Calls in progress on a cached agent of this name finish there. */
  admit(agent: SpawnedAgent): void {
    this.members.set(agent.agentId, agent);
    this.cached.get(agent.agentId)?.renew();
  }

  /** Removes the agent from this replica and from the registry, even if it fails to close (S1.5). */
  async shutdown(agent: SpawnedAgent, limitMs: number): Promise<ShutdownDetail> {
    agent.closing ??= this.close(agent, limitMs);
    return await agent.closing;
  }

  /** Removes the agent from this replica and from the registry, and closes it when its calls have ended. */
  async dismiss(agent: SpawnedAgent): Promise<void> {
    this.remove(agent);
    this.leaving.add(agent.hosted);
    agent.hosted.renew();
    await this.registrar.leave(agent);
  }

  /** The definition has changed: the next call uses the new revision (S0.2), or fails if the definition was removed (S0.6). */
  renew({ namespace, name }: DefinitionKey, isOutdated?: (revision: number) => boolean): void {
    this.cached.get(qualifiedId(namespace, name))?.renew(isOutdated);
    for (const agent of this.members.values()) {
      if (agent.facts.namespace !== namespace || agent.facts.definition !== name) continue;
      agent.hosted.renew(isOutdated);
      agent.isOutdated = true;
      void this.refresh(agent).catch((error: unknown) => this.faults.report('runtime.refresh', error));
    }
  }

  /** The next call of each agent builds a new instance. */
  renewAll(): void {
    for (const { hosted } of this.members.values()) hosted.renew();
    for (const agent of this.cached.values()) agent.renew();
  }

  /** Any definition may have changed: compares the agents with the current revisions. */
  async renewOutdated(): Promise<void> {
    for (const agent of this.members.values()) await this.refresh(agent);
    for (const agent of this.cached.values()) agent.renew();
  }

  /** Changes the registration to the current revision of the definition. */
  async refresh(agent: SpawnedAgent): Promise<void> {
    const { namespace, definition } = agent.facts;
    if (definition === null || agent.closing) return;
    try {
      const current = await this.definitions.get({ namespace, name: definition });
      agent.hosted.renew((revision) => revision < current.revision);
      if (current.revision !== agent.facts.revision) await this.registrar.redeclare(agent, current);
      agent.isOutdated = false;
    } catch (error) {
      if (!(error instanceof DefinitionNotFoundError)) throw error;
      await this.dismiss(agent);
    }
  }

  /** Closes instances that have had no call for this time. The next call builds a new instance. */
  reap(idleMs: number): void {
    for (const { hosted } of this.members.values()) if (hosted.idleMs >= idleMs) hosted.renew();
    for (const [id, agent] of this.cached) {
      if (agent.idleMs >= idleMs) agent.renew();
      if (agent.idleMs >= idleMs && agent.isEmpty) this.cached.delete(id);
    }
    for (const agent of this.leaving) if (agent.isEmpty) this.leaving.delete(agent);
  }

  /** Closes all agents that are not members of the registry, because the process stops. */
  async closeOthers(limitMs: number): Promise<void> {
    const others = [...this.cached.values(), ...this.leaving];
    await Promise.all(others.map(async (agent) => await agent.close(limitMs)));
  }

  private async close(agent: SpawnedAgent, limitMs: number): Promise<ShutdownDetail> {
    const [closed] = await Promise.all([agent.hosted.close(limitMs), this.closePinned(agent.agentId, limitMs)]);
    const unregistered = await this.registrar.leave(agent).catch((error: unknown) => error as Error);
    this.remove(agent);
    const detail = { ...closed, error: closed.error ?? unregistered ?? null };
    LifecycleLog.closed(agent.facts, detail);
    return detail;
  }

  private remove(agent: SpawnedAgent): void {
    if (this.members.get(agent.agentId) === agent) this.members.delete(agent.agentId);
  }

  private async useCurrent(key: DefinitionKey, waits: boolean): Promise<AgentUse> {
    const spawned = this.find(key);
    if (spawned) return await spawned.hosted.use(waits);
    const id = qualifiedId(key.namespace, key.name);
    const agent = this.cached.get(id) ?? this.cache(id, key, async () => await this.definitions.get(key));
    try {
      return await agent.use(waits);
    } catch (error) {
      if (error instanceof DefinitionNotFoundError && agent.isEmpty) this.cached.delete(id);
      throw error;
    }
  }

  private async useRevision(key: DefinitionKey, pinned: PinnedRevision, waits: boolean): Promise<AgentUse> {
    const { name, revision } = pinned;
    const { namespace } = key;
    const isOwn = (this.find(key)?.facts.definition ?? name) === name;
    if (isOwn && (await this.definitions.find({ namespace, name }))?.revision === revision) {
      const use = await this.useCurrent(key, waits);
      if (use.revision === revision) return use;
      use.release(); // the definition has just changed
    }
    const id = `${pinnedPrefix(qualifiedId(namespace, key.name))}${name}@${revision}`;
    const read = async (): Promise<Blueprint> => await this.definitions.revision({ namespace, name }, revision);
    return await (this.cached.get(id) ?? this.cache(id, key, read)).use(waits);
  }

  private async closePinned(agentId: string, limitMs: number): Promise<void> {
    const pinned = [...this.cached].filter(([id]) => id.startsWith(pinnedPrefix(agentId)));
    for (const [id] of pinned) this.cached.delete(id);
    await Promise.all(pinned.map(async ([, agent]) => await agent.close(limitMs)));
  }

  private cache(id: string, key: DefinitionKey, blueprint: () => Promise<Blueprint>): HostedAgent {
    const agent = this.create(key, blueprint);
    this.cached.set(id, agent);
    return agent;
  }
}

/** How the cache ids of agents with a pinned revision begin. No agentId contains a space, so these ids are unique. */
function pinnedPrefix(agentId: string): string {
  return `${agentId} `;
}
