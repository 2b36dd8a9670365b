import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Sinks1763280000000 implements MigrationInterface {
  name = 'Sinks1763280000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE event_sink (
        id              text NOT NULL CONSTRAINT event_sink_pkey PRIMARY KEY,
        kind            text NOT NULL,
        cursor          bigint NOT NULL,
        paused          boolean NOT NULL DEFAULT false,
        stopped_because text,
        attempts        int NOT NULL DEFAULT 0,
        due_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
        last_error      text,
        delivered_at    timestamptz,
        lease_owner     uuid,
        lease_token     uuid,
        lease_until     timestamptz
      ) WITH (fillfactor = 50);

      CREATE TABLE event_delivery (
        sink_id  text NOT NULL,
        seq      bigint NOT NULL,
        state    text NOT NULL,
        attempts int NOT NULL,
        event    jsonb,
        event_id uuid NOT NULL,
        type     text NOT NULL,
        subject  text NOT NULL,
        status   int,
        error    text,
        took_ms  int NOT NULL,
        first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        last_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT event_delivery_pkey PRIMARY KEY (sink_id, seq)
      );
      CREATE INDEX event_delivery_last_at ON event_delivery (last_at);
      CREATE INDEX event_delivery_open ON event_delivery (sink_id, seq) WHERE state <> 'delivered';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE event_delivery; DROP TABLE event_sink');
  }
}
