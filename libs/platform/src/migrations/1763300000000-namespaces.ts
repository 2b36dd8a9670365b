import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds namespaces. Existing keys and audit entries belong to `default`, except admin keys: they keep access to all namespaces, because
 * otherwise nobody could create a namespace. The added columns have constant defaults, so no table is rewritten.
 */
export class Namespaces1763300000000 implements MigrationInterface {
  name = 'Namespaces1763300000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE namespace (
        name        text NOT NULL CONSTRAINT namespace_pkey PRIMARY KEY,
        description text,
        limits      jsonb NOT NULL DEFAULT '{}',
        created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
        created_by  text NOT NULL,
        deleted_at  timestamptz
      );
      INSERT INTO namespace (name, description, created_by) VALUES ('default', NULL, 'system:start');

      ALTER TABLE api_key ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      UPDATE api_key SET namespace = '*' WHERE 'admin' = ANY (roles);
      CREATE INDEX api_key_namespace ON api_key (namespace, seq);

      ALTER TABLE audit_entry ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      CREATE INDEX audit_entry_namespace ON audit_entry (namespace, seq);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX audit_entry_namespace;
      ALTER TABLE audit_entry DROP COLUMN namespace;
      DROP INDEX api_key_namespace;
      ALTER TABLE api_key DROP COLUMN namespace;
      DROP TABLE namespace;
    `);
  }
}
