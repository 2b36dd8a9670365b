import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the workspaces that are in use, and the replica that has the folder of each (S4.10). */
export class WorkspaceReplicas1764209030000 implements MigrationInterface {
  name = 'WorkspaceReplicas1764209030000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE workspace (
        id            text CONSTRAINT workspace_pkey PRIMARY KEY,
        replica_id    uuid NOT NULL,
        awaited_by    text,
        awaited_since timestamptz
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE workspace');
  }
}
