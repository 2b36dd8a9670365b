import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the number of runs that an agent without a definition accepts at a time. */
export class RejectedRuns1763910000000 implements MigrationInterface {
  name = 'RejectedRuns1763910000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE runtime_agent ADD COLUMN max_runs integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE runtime_agent DROP COLUMN max_runs');
  }
}
