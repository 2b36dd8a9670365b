import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds how work reaches an agent, and whether its interrupted calls may be repeated. */
export class AgentWork1764206000000 implements MigrationInterface {
  name = 'AgentWork1764206000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD COLUMN work text NOT NULL DEFAULT 'push';
      ALTER TABLE agent ADD COLUMN IF NOT EXISTS idempotent boolean NOT NULL DEFAULT false;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP COLUMN work, DROP COLUMN IF EXISTS idempotent');
  }
}
