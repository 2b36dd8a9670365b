import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A lease token is looked up before anything else is done for the request that carries it. */
export class LeaseTokenIndex1763281500000 implements MigrationInterface {
  name = 'LeaseTokenIndex1763281500000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX agent_token_hash ON agent (token_hash)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX agent_token_hash');
  }
}
