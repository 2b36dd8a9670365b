import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the namespace of budgets. Existing budgets belong to `default`. The default is constant, so Postgres rewrites no table. The
 * budget of the fleet becomes the budget of `default`. Subjects and owners with a slash become qualified ids: `oidc:a/b` is
 * `default/oidc:a/b`.
 */
export class BudgetNamespaces1763300020000 implements MigrationInterface {
  name = 'BudgetNamespaces1763300020000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE budget ADD COLUMN namespace text NOT NULL DEFAULT 'default';
      UPDATE budget SET kind = 'namespace', subject = 'default' WHERE kind = 'fleet';
      UPDATE budget SET subject = 'default/' || subject WHERE strpos(subject, '/') > 0;
      UPDATE budget_reservation SET ${eachColumn((column) => `CASE WHEN strpos(${column}, '/') > 0 THEN 'default/' ELSE '' END || ${column}`)}
      WHERE strpos(concat(owner, agent_id, caller_id, run_id), '/') > 0;
      UPDATE budget_entry SET owner = 'default/' || owner WHERE strpos(owner, '/') > 0;
      CREATE INDEX budget_namespace ON budget (namespace, id);
    `);
  }

  /**
   * The budgets of `default` become the budgets of the fleet again, so the present budgets of the fleet are deleted. The budgets of
   * other namespaces remain, with their qualified ids.
   */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX budget_namespace;
      UPDATE budget_entry SET owner = ${withoutDefault('owner')} WHERE starts_with(owner, 'default/');
      UPDATE budget_reservation SET ${eachColumn(withoutDefault)}
      WHERE strpos(concat(owner, agent_id, caller_id, run_id), 'default/') > 0;
      UPDATE budget SET subject = ${withoutDefault('subject')} WHERE starts_with(subject, 'default/');
      DELETE FROM budget_entry WHERE budget_id IN (SELECT id FROM budget WHERE kind = 'fleet');
      DELETE FROM budget WHERE kind = 'fleet';
      UPDATE budget SET kind = 'fleet', subject = 'fleet' WHERE kind = 'namespace' AND subject = 'default';
      ALTER TABLE budget DROP COLUMN namespace;
    `);
  }
}

const QUALIFIED = ['owner', 'agent_id', 'caller_id', 'run_id'];

function eachColumn(valueOf: (column: string) => string): string {
  return QUALIFIED.map((column) => `${column} = ${valueOf(column)}`).join(', ');
}

function withoutDefault(column: string): string {
  return `regexp_replace(${column}, '^default/', '')`;
}
