import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The counters that prevent that tokens are charged by a report and by a settlement. The defaults need no rewrite of the tables. */
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
