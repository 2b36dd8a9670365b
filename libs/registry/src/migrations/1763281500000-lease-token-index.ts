import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Authentication looks up the lease token of every request that has one. */
export class LeaseTokenIndex1763281500000 implements MigrationInterface {
  name = 'LeaseTokenIndex1763281500000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX agent_token_hash ON agent (token_hash)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX agent_token_hash');
  }
}
