import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Each lease stores which replicas committed its last two heartbeats, so a replica reads only the heartbeats of other replicas. */
export class BeatsTakenBy1763280900000 implements MigrationInterface {
  name = 'BeatsTakenBy1763280900000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent_lease ADD COLUMN taken_by integer NOT NULL DEFAULT 0;
      ALTER TABLE agent_lease ADD COLUMN taken_before integer NOT NULL DEFAULT 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent_lease DROP COLUMN taken_by;
      ALTER TABLE agent_lease DROP COLUMN taken_before;
    `);
  }
}
