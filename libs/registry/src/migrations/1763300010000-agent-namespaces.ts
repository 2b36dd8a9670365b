import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the namespace of agents. Existing agents belong to `default`. The default is constant, so Postgres rewrites no table. */
export class AgentNamespaces1763300010000 implements MigrationInterface {
  name = 'AgentNamespaces1763300010000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      CREATE INDEX agent_namespace ON agent (namespace, agent_id) WHERE left_at IS NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX agent_namespace; ALTER TABLE agent DROP COLUMN namespace');
  }
}
