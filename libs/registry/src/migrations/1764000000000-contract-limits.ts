import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the number of capable agents that a contract did not invite, and the index for the quota of open contracts. */
export class ContractLimits1764000000000 implements MigrationInterface {
  name = 'ContractLimits1764000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE contract ADD COLUMN not_invited integer NOT NULL DEFAULT 0');
    await runner.query('CREATE INDEX contract_open_by ON contract (announced_by) WHERE ended_at IS NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX contract_open_by');
    await runner.query('ALTER TABLE contract DROP COLUMN not_invited');
  }
}
