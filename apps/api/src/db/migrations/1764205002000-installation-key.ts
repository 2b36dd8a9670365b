import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the signing key that an installation makes for itself. */
export class InstallationKey1764205002000 implements MigrationInterface {
  name = 'InstallationKey1764205002000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE installation_key (
      id smallint CONSTRAINT installation_key_pkey PRIMARY KEY,
      sealed bytea NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp()
    )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE installation_key');
  }
}
