import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A caller lists the runs that it started, newest first (S-20). Without the index, the list would read the runs of all callers. */
export class RunsOfCaller1764206020000 implements MigrationInterface {
  name = 'RunsOfCaller1764206020000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX run_of_caller ON run (namespace, created_by, seq) WHERE parent_id IS NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX run_of_caller');
  }
}
