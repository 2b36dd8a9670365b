import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores for each key the first key of its chain of rotations. That key owns the agents that the keys of the chain register. */
export class KeyOrigin1763300200000 implements MigrationInterface {
  name = 'KeyOrigin1763300200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key ADD COLUMN origin_id text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE api_key DROP COLUMN origin_id');
  }
}
