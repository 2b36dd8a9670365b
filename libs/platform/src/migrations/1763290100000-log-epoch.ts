import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds an identity to the event log, so that a cursor of another log is recognised. */
export class LogEpoch1763290100000 implements MigrationInterface {
  name = 'LogEpoch1763290100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE event_counter
        ADD COLUMN epoch text NOT NULL DEFAULT left(gen_random_uuid()::text, 8),
        ADD COLUMN origin text;
      ALTER TABLE event_counter ALTER COLUMN epoch DROP DEFAULT;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE event_counter DROP COLUMN origin, DROP COLUMN epoch');
  }
}
