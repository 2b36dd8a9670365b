import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Moves the circuits of agents and the statistics of their calls to a narrow table, so that an outcome neither locks nor rewrites the
 * row of the agent.
 */
export class AgentCircuits1764010000000 implements MigrationInterface {
  name = 'AgentCircuits1764010000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_circuit (
        agent_id     text NOT NULL CONSTRAINT agent_circuit_pkey PRIMARY KEY,
        state        jsonb NOT NULL,
        observed_ms  double precision,
        last_task_at timestamptz,
        outcomes     bigint NOT NULL DEFAULT 0,
        version      bigint NOT NULL DEFAULT 0
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
      INSERT INTO agent_circuit (agent_id, state, observed_ms, last_task_at, outcomes)
      SELECT agent_id, circuit, observed_ms, last_task_at, outcomes FROM agent;
      ALTER TABLE agent DROP COLUMN circuit, DROP COLUMN observed_ms, DROP COLUMN last_task_at, DROP COLUMN outcomes;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD COLUMN circuit jsonb, ADD COLUMN observed_ms double precision, ADD COLUMN last_task_at timestamptz,
        ADD COLUMN outcomes bigint NOT NULL DEFAULT 0;
      UPDATE agent a SET circuit = c.state, observed_ms = c.observed_ms, last_task_at = c.last_task_at, outcomes = c.outcomes
      FROM agent_circuit c WHERE c.agent_id = a.agent_id;
      ALTER TABLE agent ALTER COLUMN circuit SET NOT NULL;
      DROP TABLE agent_circuit;
    `);
  }
}
