import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the part of a reservation that is meant for later calls. */
export class ReservedAhead1764020000000 implements MigrationInterface {
  name = 'ReservedAhead1764020000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE budget_reservation ADD COLUMN ahead_tokens bigint NOT NULL DEFAULT 0,
      ADD COLUMN ahead_micro_usd bigint NOT NULL DEFAULT 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE budget_reservation DROP COLUMN ahead_tokens, DROP COLUMN ahead_micro_usd');
  }
}
