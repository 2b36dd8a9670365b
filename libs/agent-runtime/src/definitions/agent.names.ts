import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { NamespaceAdmission, NamespaceNotFoundError } from '#rollcall/platform';
import { ReservedNames } from '#rollcall/registry';
import { AgentExistsError, AgentNameReservedError } from '../lifecycle/lifecycle.errors.js';
import { AgentNameStore } from './agent-name.store.js';
import type { DefinitionKey } from './definition.js';

/** How long and how often a spawn tries to lock its name before it waits in the queue of the lock. */
const TRY_MS = 3_000;
const TRY_EVERY_MS = 50;

/**
 * Definitions and agents share their names: a spawned agent has the name of its own definition, or a name that no definition has, and
 * other agents cannot register the name of a definition (S-1). A definition can get the name of a live external agent, which then gets no
 * more work under that name, so a registration needs no lock: at the same time as a definition of its name, it is accepted as the earlier
 * one or rejected. A transaction that adds a definition or a spawned agent calls a method of this class first. The method locks the name until the
 * transaction ends.
 */
@Injectable()
export class AgentNames {
  constructor(
    private readonly store: AgentNameStore,
    private readonly namespaces: NamespaceAdmission,
    reserved: ReservedNames,
  ) {
    reserved.add(async (agentIds) => await store.definedAmong(agentIds));
  }

  /** For a new definition. Throws AGENT_ALREADY_EXISTS if a live spawned agent has the name, but was not built from that definition. */
  async lockForDefinition(key: DefinitionKey): Promise<void> {
    const { namespace, name } = key;
    if (!(await this.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
    // Both statements are sent together. The second one runs when the lock is held, so it sees the changes of earlier holders.
    const [, spawned] = await Promise.all([this.store.lock(key), this.store.spawned([key])]);
    if (spawned.size > 0) throw new AgentExistsError(name);
  }

  /**
   * For a spawned agent. Throws AGENT_ALREADY_EXISTS if another live agent gets the name during the wait for the lock. Throws
   * AGENT_NAME_RESERVED if a definition has the name and the agent was not built from it.
   */
  async lockForAgent(key: DefinitionKey, definition: string | null): Promise<void> {
    await this.lockFree(key);
    if (definition !== key.name && (await this.store.isDefined(key))) throw new AgentNameReservedError(key.name);
  }

  /** Polls for the lock. When one of many concurrent spawns is committed, all others are rejected at once, not one after the other. */
  private async lockFree(key: DefinitionKey): Promise<void> {
    const end = performance.now() + TRY_MS;
    while (!(await this.store.tryLock(key))) {
      if (await this.store.isLive(key)) throw new AgentExistsError(key.name);
      if (performance.now() > end) return await this.store.lock(key);
      await delay(TRY_EVERY_MS);
    }
  }
}
