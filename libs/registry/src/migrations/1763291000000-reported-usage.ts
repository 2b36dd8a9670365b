import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the counters that prevent tokens from being charged by both a report and a settlement. The defaults are constant, so
 * Postgres rewrites no table.
 */
export class ReportedUsage1763291000000 implements MigrationInterface {
  name = 'ReportedUsage1763291000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE budget ADD COLUMN reported_tokens bigint NOT NULL DEFAULT 0,
        ADD COLUMN report_offset bigint NOT NULL DEFAULT 0;
      ALTER TABLE budget_reservation ADD COLUMN reported_before bigint NOT NULL DEFAULT 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE budget_reservation DROP COLUMN reported_before;
      ALTER TABLE budget DROP COLUMN report_offset, DROP COLUMN reported_tokens;
    `);
  }
}
