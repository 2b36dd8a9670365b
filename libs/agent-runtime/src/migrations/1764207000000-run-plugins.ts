import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The plugins that the agent of a run needs. Only replicas that have them execute the run. */
export class RunPlugins1764207000000 implements MigrationInterface {
  name = 'RunPlugins1764207000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE run ADD COLUMN plugins text[] NOT NULL DEFAULT '{}'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE run DROP COLUMN plugins');
  }
}
