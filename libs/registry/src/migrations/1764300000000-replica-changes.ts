import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the table through which replicas learn which agents sent heartbeats to, or were charged by, other replicas. */
export class ReplicaChanges1764300000000 implements MigrationInterface {
  name = 'ReplicaChanges1764300000000';

  /** The table is not logged: after a crash of Postgres, replicas read all leases and agent budgets once. */
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE UNLOGGED TABLE replica_changes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        replica integer NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        beaten text[] NOT NULL,
        charged text[] NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE replica_changes');
  }
}
