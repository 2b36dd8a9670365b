import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A run keeps what an A2A client sent besides the parts of its input, so that a remote agent receives it. */
export class RunA2a1764205000000 implements MigrationInterface {
  name = 'RunA2a1764205000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE run ADD COLUMN a2a json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE run DROP COLUMN a2a');
  }
}
