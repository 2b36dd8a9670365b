import type { MigrationInterface, QueryRunner } from 'typeorm';

export class EventTickets1763262060000 implements MigrationInterface {
  name = 'EventTickets1763262060000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE event_ticket (
        hash       bytea NOT NULL CONSTRAINT event_ticket_pkey PRIMARY KEY,
        principal  jsonb NOT NULL,
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX event_ticket_expires_at ON event_ticket (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE event_ticket');
  }
}
