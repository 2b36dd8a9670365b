import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Time that does not count for leases is kept once for all of them, and each lease knows how much of it there was at its
 * last beat: after an outage one row is written instead of every lease.
 */
export class Forgiveness1763269000000 implements MigrationInterface {
  name = 'Forgiveness1763269000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE registry_protection ADD COLUMN forgiven_ms bigint NOT NULL DEFAULT 0;
      ALTER TABLE registry_protection ADD COLUMN forgiven_until timestamptz;
      ALTER TABLE agent_lease DROP COLUMN extended_ms;
      ALTER TABLE agent_lease ADD COLUMN forgiven_ms bigint NOT NULL DEFAULT 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent_lease DROP COLUMN forgiven_ms;
      ALTER TABLE agent_lease ADD COLUMN extended_ms integer NOT NULL DEFAULT 0;
      ALTER TABLE registry_protection DROP COLUMN forgiven_ms;
      ALTER TABLE registry_protection DROP COLUMN forgiven_until;
    `);
  }
}
