import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { NamespaceAdmission, NamespaceNotFoundError } from '#rollcall/platform';
import { AgentExistsError, AgentNameReservedError } from '../lifecycle/lifecycle.errors.js';
import { type AgentName, AgentNameStore } from './agent-name.store.js';

/** How long and how often a spawn tries to lock its name before it waits in the queue of the lock. */
const TRY_MS = 3_000;
const TRY_EVERY_MS = 50;

/**
 * Definitions and spawned agents share their names: a spawned agent has the name of its own definition, or a name that no definition
 * has. Each transaction that adds one of them calls a method of this class first, which locks the name until the transaction ends.
 */
@Injectable()
export class AgentNames {
  constructor(
    private readonly store: AgentNameStore,
    private readonly namespaces: NamespaceAdmission,
  ) {}

  /** For a new definition. Rejects a name that a live agent of something else has with AGENT_ALREADY_EXISTS. */
  async claimForDefinition(key: AgentName): Promise<void> {
    const { namespace, name } = key;
    if (!(await this.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
    // Sent together: the second statement sees what the transactions that held the lock before have written.
    const [, spawned] = await Promise.all([this.store.lock(key), this.store.spawned([key])]);
    if (spawned.size > 0) throw new AgentExistsError(name);
  }

  /** For a spawned agent. Rejects a name that a live agent gets meanwhile with AGENT_ALREADY_EXISTS, and the name of a definition that the agent was not built from with AGENT_NAME_RESERVED. */
  async claimForAgent(key: AgentName, definition: string | null): Promise<void> {
    await this.lockFree(key);
    if (definition !== key.name && (await this.store.isDefined(key))) throw new AgentNameReservedError(key.name);
  }

  /** When one of many concurrent spawns is committed, all waiting spawns are rejected at once, and not one after the other. */
  private async lockFree(key: AgentName): Promise<void> {
    const end = performance.now() + TRY_MS;
    while (!(await this.store.tryLock(key))) {
      if (await this.store.isLive(key)) throw new AgentExistsError(key.name);
      if (performance.now() > end) return await this.store.lock(key);
      await delay(TRY_EVERY_MS);
    }
  }
}
