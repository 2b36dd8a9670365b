import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions of people, and the tickets that open one. */
export class Sessions1764207000000 implements MigrationInterface {
  name = 'Sessions1764207000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE session (
        hash       bytea NOT NULL CONSTRAINT session_pkey PRIMARY KEY,
        key_id     text NOT NULL,
        roles      text[] NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX session_key ON session (key_id, created_at);
      CREATE INDEX session_expires_at ON session (expires_at);
      CREATE TABLE session_ticket (
        hash       bytea NOT NULL CONSTRAINT session_ticket_pkey PRIMARY KEY,
        key_id     text NOT NULL,
        roles      text[] NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX session_ticket_expires_at ON session_ticket (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE session, session_ticket');
  }
}
