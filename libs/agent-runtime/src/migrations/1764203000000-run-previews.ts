import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lists of runs show previews instead of contents. Rows of older versions get no preview here, because that would rewrite the table while
 * the replicas wait: a list computes theirs, and they are deleted with their runs.
 */
export class RunPreviews1764203000000 implements MigrationInterface {
  name = 'RunPreviews1764203000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE run ADD COLUMN input_preview json;
      ALTER TABLE run ADD COLUMN result_preview json;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE run DROP COLUMN result_preview;
      ALTER TABLE run DROP COLUMN input_preview;
    `);
  }
}
