import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the conversation of a run, the time of its last change, and the order of the tasks of a caller (A2A). */
export class RunChanges1763950000000 implements MigrationInterface {
  name = 'RunChanges1763950000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE run ADD COLUMN conversation_id text;
      ALTER TABLE run ADD COLUMN state_at timestamptz NOT NULL DEFAULT clock_timestamp();
      UPDATE run SET state_at = coalesce(finished_at, greatest(queued_at, started_at));
      CREATE INDEX run_changes ON run (namespace, created_by, state_at, seq) WHERE parent_id IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX run_changes;
      ALTER TABLE run DROP COLUMN state_at;
      ALTER TABLE run DROP COLUMN conversation_id;
    `);
  }
}
