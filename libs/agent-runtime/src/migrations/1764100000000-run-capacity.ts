import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The unfinished runs are found by namespace, caller and agent, so that capacity can be divided between them. A run counts the
 * replicas that crashed in the same step.
 */
export class RunCapacity1764100000000 implements MigrationInterface {
  name = 'RunCapacity1764100000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX run_open ON run (namespace, created_by, agent_id, seq)
        WHERE state IN ('queued', 'running') AND parent_id IS NULL;
      DROP INDEX run_claimable;
      ALTER TABLE run ADD COLUMN crashes_in_step integer NOT NULL DEFAULT 0;
      ALTER TABLE run ADD COLUMN crashed_after integer;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE run DROP COLUMN crashed_after;
      ALTER TABLE run DROP COLUMN crashes_in_step;
      CREATE INDEX run_claimable ON run (seq) WHERE state IN ('queued', 'running') AND parent_id IS NULL;
      DROP INDEX run_open;
    `);
  }
}
