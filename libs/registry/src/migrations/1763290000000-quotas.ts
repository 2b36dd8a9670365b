import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the indexes that are used to count the live agents and held reservations of one credential, for its quotas. */
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
