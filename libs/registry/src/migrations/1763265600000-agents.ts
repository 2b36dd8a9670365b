import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Agents1763265600000 implements MigrationInterface {
  name = 'Agents1763265600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent (
        agent_id        text NOT NULL CONSTRAINT agent_pkey PRIMARY KEY,
        generation      bigint NOT NULL,
        revision        bigint NOT NULL,
        token_hash      text NOT NULL,
        name            text NOT NULL,
        endpoint        text,
        agent_card      jsonb,
        capabilities    text[] NOT NULL,
        sandbox_level   integer NOT NULL,
        provider        jsonb NOT NULL,
        cost_model      jsonb NOT NULL,
        labels          jsonb NOT NULL,
        version         text,
        definition      text,
        capacity        integer,
        declared_ms     integer,
        budget_total    bigint,
        budget_used     bigint NOT NULL,
        budget_source   text NOT NULL,
        circuit         jsonb NOT NULL,
        flap            jsonb NOT NULL,
        registered_at   timestamptz NOT NULL,
        registered_by   text NOT NULL,
        last_task_at    timestamptz,
        left_at         timestamptz,
        leave_reason    text
      );
      CREATE INDEX agent_left_at ON agent (left_at);

      CREATE TABLE agent_lease (
        agent_id     text NOT NULL CONSTRAINT agent_lease_pkey PRIMARY KEY,
        generation   bigint NOT NULL,
        token_hash   text NOT NULL,
        last_beat_at timestamptz NOT NULL,
        extended_ms  integer NOT NULL DEFAULT 0,
        suspect      boolean NOT NULL DEFAULT false,
        in_flight    integer NOT NULL DEFAULT 0,
        load_ratio   real,
        observed_ms  real,
        used_tokens  bigint
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

      CREATE TABLE agent_intent (
        agent_id      text NOT NULL CONSTRAINT agent_intent_pkey PRIMARY KEY,
        desired_state text NOT NULL,
        note          text,
        set_by        text NOT NULL,
        set_at        timestamptz NOT NULL
      );

      CREATE TABLE registry_protection (
        id          integer NOT NULL CONSTRAINT registry_protection_pkey PRIMARY KEY,
        override    text NOT NULL,
        state       jsonb,
        explanation jsonb
      );
      INSERT INTO registry_protection (id, override) VALUES (1, 'auto');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE registry_protection, agent_intent, agent_lease, agent');
  }
}
