import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the tasks of agents that take their work. */
export class AgentTasks1764206010000 implements MigrationInterface {
  name = 'AgentTasks1764206010000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_task (
        call_id     text NOT NULL CONSTRAINT agent_task_pkey PRIMARY KEY,
        run_id      text NOT NULL,
        agent_id    text NOT NULL,
        state       text NOT NULL DEFAULT 'offered',
        idempotent  boolean NOT NULL,
        generation  bigint,
        content     json,
        result      json,
        result_hash text,
        offered_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
        taken_at    timestamptz
      ) WITH (fillfactor = 70);
      CREATE INDEX agent_task_open ON agent_task (agent_id, state, offered_at) WHERE state IN ('offered', 'taken');
      CREATE INDEX agent_task_run ON agent_task (run_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_task');
  }
}
