import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds definitions and their revisions. The revisions remain when a definition is removed, because runs refer to them. */
export class Definitions1763600000000 implements MigrationInterface {
  name = 'Definitions1763600000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE definition (
        namespace text NOT NULL,
        name      text NOT NULL,
        revision  integer NOT NULL,
        CONSTRAINT definition_pkey PRIMARY KEY (namespace, name)
      );
      CREATE TABLE definition_revision (
        namespace  text NOT NULL,
        name       text NOT NULL,
        revision   integer NOT NULL,
        content    jsonb NOT NULL,
        hash       text NOT NULL,
        source     text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        created_by text NOT NULL,
        CONSTRAINT definition_revision_pkey PRIMARY KEY (namespace, name, revision)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE definition_revision; DROP TABLE definition');
  }
}
