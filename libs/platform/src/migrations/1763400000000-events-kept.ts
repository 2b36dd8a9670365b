import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores how many events each namespace has, because a namespace can limit how many events it keeps. */
export class EventsKept1763400000000 implements MigrationInterface {
  name = 'EventsKept1763400000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE event_namespace (
        namespace  text NOT NULL CONSTRAINT event_namespace_pkey PRIMARY KEY,
        kept       bigint NOT NULL DEFAULT 0,
        expired_to bigint NOT NULL DEFAULT 0
      );
      INSERT INTO event_namespace (namespace, kept) SELECT namespace, count(*) FROM event_log GROUP BY namespace;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE event_namespace');
  }
}
