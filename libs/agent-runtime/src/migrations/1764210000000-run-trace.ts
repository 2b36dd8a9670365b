import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the position of a run in the trace of the request that started it (M-7). */
export class RunTrace1764210000000 implements MigrationInterface {
  name = 'RunTrace1764210000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE run ADD COLUMN trace json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE run DROP COLUMN trace');
  }
}
