import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the agents that replicas host, and the commands that replicas send to each other. */
export class Lifecycle1763700000000 implements MigrationInterface {
  name = 'Lifecycle1763700000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE runtime_agent (
        agent_id   text NOT NULL CONSTRAINT runtime_agent_pkey PRIMARY KEY,
        generation bigint NOT NULL,
        namespace  text NOT NULL,
        name       text NOT NULL,
        replica_id text NOT NULL,
        agent_type text NOT NULL,
        provider   text NOT NULL,
        definition text,
        revision   integer,
        run_limit  json,
        state      text NOT NULL,
        in_flight  integer NOT NULL,
        spawned_by text NOT NULL,
        spawned_at timestamptz NOT NULL DEFAULT clock_timestamp()
      ) WITH (fillfactor = 70);
      CREATE INDEX runtime_agent_namespace ON runtime_agent (namespace, name);
      CREATE TABLE runtime_command (
        id         uuid NOT NULL CONSTRAINT runtime_command_pkey PRIMARY KEY,
        replica_id text NOT NULL,
        command    jsonb NOT NULL,
        expires_at timestamptz NOT NULL,
        is_taken   boolean NOT NULL DEFAULT false,
        result     jsonb
      );
      CREATE INDEX runtime_command_replica ON runtime_command (replica_id) WHERE NOT is_taken;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE runtime_command; DROP TABLE runtime_agent');
  }
}
