import { Injectable } from '@nestjs/common';
import { Database, localIdOf, namespaceOf, qualifiedId } from '#rollcall/platform';
import type { DefinitionKey } from './definition.js';

/** The lock of all names. A deployment or an import holds it alone. A change of one definition and a spawn of one agent share it. */
const ALL_NAMES = 'rollcall.definitions';

/** Locks agent names, and reads whether agents or definitions use them. A lock is held until the transaction ends. */
@Injectable()
export class AgentNameStore {
  constructor(private readonly db: Database) {}

  async lock(key: DefinitionKey): Promise<void> {
    await this.db.query(
      'SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 0))',
      [ALL_NAMES, lockOf(key)],
    );
  }

  /** Like `lock`, but returns false if another transaction holds the name. */
  async tryLock(key: DefinitionKey): Promise<boolean> {
    const rows = await this.db.query<{ isHeld: boolean }>(
      `SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0)),
         pg_try_advisory_xact_lock(hashtextextended($2, 0)) AS "isHeld"`,
      [ALL_NAMES, lockOf(key)],
    );
    return rows[0]?.isHeld ?? false;
  }

  /** Waits until no other transaction holds a name. Transactions that lock a name later wait until this transaction ends. */
  async lockAll(): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [ALL_NAMES]);
  }

  async lockShared(): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [ALL_NAMES]);
  }

  /** Whether a live agent has the name. It may be an in-process or an external agent. */
  async isLive({ namespace, name }: DefinitionKey): Promise<boolean> {
    const sql = 'SELECT 1 FROM agent WHERE agent_id = $1 AND left_at IS NULL';
    return (await this.db.query(sql, [qualifiedId(namespace, name)])).length > 0;
  }

  async isDefined({ namespace, name }: DefinitionKey): Promise<boolean> {
    const sql = 'SELECT 1 FROM definition WHERE namespace = $1 AND name = $2';
    return (await this.db.query(sql, [namespace, name])).length > 0;
  }

  /** Those of the qualified ids that are names of definitions. */
  async definedAmong(agentIds: readonly string[]): Promise<string[]> {
    if (agentIds.length === 0) return [];
    const rows = await this.db.query<{ namespace: string; name: string }>(
      `SELECT d.namespace, d.name FROM unnest($1::text[], $2::text[]) AS n (namespace, name) JOIN definition AS d USING (namespace, name)`,
      [agentIds.map(namespaceOf), agentIds.map(localIdOf)],
    );
    return rows.map(({ namespace, name }) => qualifiedId(namespace, name));
  }

  /** The qualified ids of live spawned agents with these names, except agents that were built from the definition of their name. */
  async spawned(names: readonly DefinitionKey[]): Promise<Set<string>> {
    if (names.length === 0) return new Set();
    const rows = await this.db.query<{ agentId: string }>(
      `SELECT agent_id AS "agentId" FROM runtime_agent AS h JOIN agent AS a USING (agent_id, generation)
       WHERE agent_id = ANY ($1) AND a.left_at IS NULL AND h.definition IS DISTINCT FROM h.name`,
      [names.map(({ namespace, name }) => qualifiedId(namespace, name))],
    );
    return new Set(rows.map(({ agentId }) => agentId));
  }
}

function lockOf({ namespace, name }: DefinitionKey): string {
  return `rollcall.definition:${namespace}/${name}`;
}
