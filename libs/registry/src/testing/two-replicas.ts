import type { DatabaseOptions, RegistryEvent } from '#rollcall/platform';
import { readAll, type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import type { RegistryOptions } from '../registry.options.js';
import { testRegistry, type TestRegistry } from './test-registry.js';

/** Two replicas of the registry on one database. No periodic work and no event feed runs. */
export class TwoReplicas {
  private constructor(
    readonly database: TestDatabase,
    readonly here: TestRegistry,
    readonly there: TestRegistry,
  ) {}

  static async start(
    options: Partial<RegistryOptions> = {},
    onDatabase: Partial<DatabaseOptions> = {},
  ): Promise<TwoReplicas> {
    const database = await testDatabase(onDatabase);
    const there = await testRegistry(await database.connectAgain(), options);
    return new TwoReplicas(database, await testRegistry(database.db, options), there);
  }

  async stop(): Promise<void> {
    await Promise.all([this.here.idle(), this.there.idle()]);
    await this.database.drop();
  }

  /** The builders of the first replica. */
  get given(): TestRegistry['given'] {
    return this.here.given;
  }

  /** The events in the log, of these types if any are named. */
  async loggedEvents(...types: string[]): Promise<RegistryEvent[]> {
    while ((await this.here.events.sequencer.runOnce()).moved > 0);
    const all = await readAll(this.here.events);
    return types.length === 0 ? all : all.filter(({ type }) => types.includes(type));
  }

  /**
   * Simulates that time passes for leases and self-preservation: moves all stored times into the past. A negative time simulates
   * a database clock that was set back.
   */
  async elapse(ms: number): Promise<void> {
    const { db } = this.database;
    await db.query(`UPDATE agent_lease SET last_beat_at = last_beat_at - $1 * interval '1 millisecond'`, [ms]);
    await db.query(
      `UPDATE registry_protection SET forgiven_until = forgiven_until - $1 * interval '1 millisecond',
         state = (SELECT jsonb_object_agg(key, CASE WHEN jsonb_typeof(value) = 'number' AND key <> 'credit'
           THEN to_jsonb(value::float8 - $1) ELSE value END) FROM jsonb_each(state))`,
      [ms],
    );
  }

  /** Simulates that these agents sent no heartbeat for this time: moves their last heartbeat into the past. */
  async silence(ms: number, ...agentIds: string[]): Promise<void> {
    await this.database.db.query(
      `UPDATE agent_lease SET last_beat_at = last_beat_at - $1 * interval '1 millisecond' WHERE agent_id = ANY ($2)`,
      [ms, agentIds],
    );
  }
}
