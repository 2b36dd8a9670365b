import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What one credential has at the moment is counted by these. */
export class Quotas1763290000000 implements MigrationInterface {
  name = 'Quotas1763290000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX agent_registered_by ON agent (registered_by) WHERE left_at IS NULL;
      CREATE INDEX budget_reservation_held ON budget_reservation (owner) WHERE state = 'held';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX budget_reservation_held; DROP INDEX agent_registered_by');
  }
}
