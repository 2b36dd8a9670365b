import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the column that strong queries search. Most writes to an agent change no indexed column; with free space on each page they are
 * HOT updates, which do not touch the index. Existing agents get keys in lower case only; their next registration writes the
 * normal form. The default serves replicas of the previous version, which do not write the column.
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
