import type { MigrationInterface, QueryRunner } from 'typeorm';

export class PushNotifications1763960000000 implements MigrationInterface {
  name = 'PushNotifications1763960000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE push_config (
        id         text NOT NULL CONSTRAINT push_config_pkey PRIMARY KEY,
        namespace  text NOT NULL,
        run_id     text NOT NULL,
        config_id  text NOT NULL,
        url        text NOT NULL,
        scheme     text,
        secrets    bytea,
        version    text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE UNIQUE INDEX push_config_of_run ON push_config (run_id, config_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE push_config');
  }
}
