import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds how many tokens a call of an agent usually needs. */
export class TypicalTokens1764205001000 implements MigrationInterface {
  name = 'TypicalTokens1764205001000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent ADD COLUMN typical_tokens integer');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP COLUMN typical_tokens');
  }
}
