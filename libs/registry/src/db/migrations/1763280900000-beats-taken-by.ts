import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Each lease knows which replica took its last beat, so that a replica reads only the beats of others. */
export class BeatsTakenBy1763280900000 implements MigrationInterface {
  name = 'BeatsTakenBy1763280900000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent_lease ADD COLUMN taken_by integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent_lease DROP COLUMN taken_by');
  }
}
