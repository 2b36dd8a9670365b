import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the namespace of events and webhooks. Existing rows belong to `default`. The default is constant, so Postgres rewrites no table. */
export class EventNamespaces1763300030000 implements MigrationInterface {
  name = 'EventNamespaces1763300030000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE event_staging ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      ALTER TABLE event_log ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      ALTER TABLE webhook ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      CREATE INDEX webhook_namespace ON webhook (namespace, seq);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX webhook_namespace;
      ALTER TABLE webhook DROP COLUMN namespace;
      ALTER TABLE event_log DROP COLUMN namespace;
      ALTER TABLE event_staging DROP COLUMN namespace;
    `);
  }
}
