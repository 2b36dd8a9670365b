import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What strong queries ask by. Most writes to an agent change none of its indexed columns; the room left on its pages lets
 * them stay clear of the index. Agents that were there before are found by their capabilities as they spelled them, until
 * they register again. The default is for replicas that do not know the column yet.
 */
export class CapabilityKeys1763266000000 implements MigrationInterface {
  name = 'CapabilityKeys1763266000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent SET (fillfactor = 80);
      ALTER TABLE agent ADD COLUMN capability_keys text[] NOT NULL DEFAULT '{}';
      UPDATE agent SET capability_keys = ARRAY(
        SELECT DISTINCT array_to_string(parts[:depth], '.')
        FROM unnest(capabilities) AS claim, string_to_array(lower(claim), '.') AS parts,
          generate_series(1, cardinality(parts)) AS depth
      );
      CREATE INDEX agent_capability_keys ON agent USING gin (capability_keys) WHERE left_at IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP COLUMN capability_keys; ALTER TABLE agent RESET (fillfactor)');
  }
}
