import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the latest outcomes of each agent, with their reporters, and the latency that callers observe. Postgres rewrites no table. */
export class Outcomes1763291010000 implements MigrationInterface {
  name = 'Outcomes1763291010000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD COLUMN observed_ms double precision, ADD COLUMN outcomes bigint NOT NULL DEFAULT 0;
      CREATE TABLE agent_outcome (
        agent_id      text NOT NULL,
        slot          smallint NOT NULL,
        number        bigint NOT NULL,
        generation    bigint NOT NULL,
        at            timestamptz NOT NULL,
        ok            boolean NOT NULL,
        latency_ms    double precision,
        reporter_id   text NOT NULL,
        reporter_name text NOT NULL,
        CONSTRAINT agent_outcome_pkey PRIMARY KEY (agent_id, slot)
      );
      CREATE INDEX agent_outcome_at ON agent_outcome (at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_outcome; ALTER TABLE agent DROP COLUMN outcomes, DROP COLUMN observed_ms');
  }
}
