import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Configurations that exist already have no owner and do not count. They are deleted some time after their task has ended. */
export class PushOwners1764204000000 implements MigrationInterface {
  name = 'PushOwners1764204000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE push_config ADD created_by text NOT NULL DEFAULT '';
      CREATE INDEX push_config_of_owner ON push_config (created_by);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE push_config DROP COLUMN created_by');
  }
}
