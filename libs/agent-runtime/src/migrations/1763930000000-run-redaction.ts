import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the removal of the contents of runs. `run_waiting` serves the search for waiting runs whose deadline has passed. */
export class RunRedaction1763930000000 implements MigrationInterface {
  name = 'RunRedaction1763930000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE run ADD COLUMN redact_after_ms integer, ADD COLUMN redacted_at timestamptz;
      CREATE INDEX run_redactable ON run (finished_at) WHERE parent_id IS NULL AND redacted_at IS NULL;
      CREATE INDEX run_redaction_requested ON run (finished_at)
        WHERE redact_after_ms IS NOT NULL AND parent_id IS NULL AND redacted_at IS NULL;
      CREATE INDEX run_waiting ON run (deadline) WHERE state = 'waiting' AND parent_id IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX run_waiting;
      DROP INDEX run_redaction_requested;
      DROP INDEX run_redactable;
      ALTER TABLE run DROP COLUMN redact_after_ms, DROP COLUMN redacted_at;
    `);
  }
}
