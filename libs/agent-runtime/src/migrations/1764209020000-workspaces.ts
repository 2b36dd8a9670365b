import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Gives each conversation a workspace (S4.10). A conversation that began with the run of its id continues the workspace of that run. The
 * index serves the removal of workspaces.
 */
export class Workspaces1764209020000 implements MigrationInterface {
  name = 'Workspaces1764209020000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE conversation ADD COLUMN workspace_id text NOT NULL DEFAULT gen_random_uuid()::text;
      UPDATE conversation SET workspace_id = run.id FROM run
        WHERE run.id = conversation.id AND run.namespace = conversation.namespace AND run.created_by = conversation.created_by
          AND run.conversation_id = run.id;
      CREATE INDEX conversation_workspace ON conversation (workspace_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX conversation_workspace; ALTER TABLE conversation DROP COLUMN workspace_id;');
  }
}
