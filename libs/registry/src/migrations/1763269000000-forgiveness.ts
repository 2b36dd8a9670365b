import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * One row stores the total time that does not count for leases; each lease stores the total at its last heartbeat. An extension of
 * all leases after an outage then writes one row instead of every lease.
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
