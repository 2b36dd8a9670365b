import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The generations of agents that were deleted earlier are unknown. The highest generation that still exists is the best estimate. */
export class ForgottenGenerations1763281000000 implements MigrationInterface {
  name = 'ForgottenGenerations1763281000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE agent_forgotten (
        id         smallint NOT NULL CONSTRAINT agent_forgotten_pkey PRIMARY KEY,
        generation bigint NOT NULL
      );
      INSERT INTO agent_forgotten (id, generation) SELECT 1, coalesce(max(generation), 0) FROM agent;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE agent_forgotten');
  }
}
