import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { DefinitionSource } from '../definition.js';
import type { DeployedDefinition, RegisteredDefinition } from './deployment.plan.js';

type Key = Pick<RegisteredDefinition, 'namespace' | 'name'>;
type RegisteredRow = RegisteredDefinition & object;

const ROWS_PER_STATEMENT = 500;
const COLUMNS = `r.namespace, r.name, r.revision, r.hash, r.source, r.content->'capabilities' AS capabilities,
  r.content->'plugins' AS plugins,
  r.content->'model' AS model, r.content->>'provider' AS provider`;

/** Writes many definitions with few statements. The caller of a write has locked all names. */
@Injectable()
export class DeploymentStore {
  constructor(private readonly db: Database) {}

  /** The registered definitions with these names, and all registered definitions of these sources. */
  async registered(keys: readonly Key[], sources: readonly DefinitionSource[]): Promise<RegisteredDefinition[]> {
    const named = this.db.query<RegisteredRow>(
      `SELECT ${COLUMNS} FROM unnest($1::text[], $2::text[]) AS k(namespace, name)
       JOIN definition AS d USING (namespace, name) JOIN definition_revision AS r USING (namespace, name, revision)`,
      [keys.map(({ namespace }) => namespace), keys.map(({ name }) => name)],
    );
    if (sources.length === 0) return await named;
    const ofSources = this.db.query<RegisteredRow>(
      `SELECT ${COLUMNS} FROM definition AS d JOIN definition_revision AS r USING (namespace, name, revision)
       WHERE r.source = ANY($1::text[])`,
      [sources],
    );
    const rows = (await Promise.all([named, ofSources])).flat();
    return [...new Map(rows.map((row) => [`${row.namespace}/${row.name}`, row])).values()];
  }

  /** Adds a revision to each definition, and creates definitions that do not exist. Returns the new revision numbers in the same order. */
  async write(definitions: readonly DeployedDefinition[], by: string): Promise<number[]> {
    const numbers: number[] = [];
    for (let start = 0; start < definitions.length; start += ROWS_PER_STATEMENT)
      numbers.push(...(await this.writeSome(definitions.slice(start, start + ROWS_PER_STATEMENT), by)));
    return numbers;
  }

  async remove(keys: readonly Key[]): Promise<void> {
    await this.db.query(
      'DELETE FROM definition WHERE (namespace, name) IN (SELECT * FROM unnest($1::text[], $2::text[]))',
      [keys.map(({ namespace }) => namespace), keys.map(({ name }) => name)],
    );
  }

  private async writeSome(definitions: readonly DeployedDefinition[], by: string): Promise<number[]> {
    const rows = await this.db.query<{ revision: number }>(
      `WITH wanted AS (
         SELECT w.*, coalesce((SELECT max(r.revision) FROM definition_revision AS r
                               WHERE r.namespace = w.namespace AND r.name = w.name), 0) + 1 AS revision
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
           WITH ORDINALITY AS w(namespace, name, content, hash, source, place)
       ), current AS (
         INSERT INTO definition (namespace, name, revision) SELECT namespace, name, revision FROM wanted
         ON CONFLICT (namespace, name) DO UPDATE SET revision = excluded.revision
       ), added AS (
         INSERT INTO definition_revision (namespace, name, revision, content, hash, source, created_by)
         SELECT namespace, name, revision, content::jsonb, hash, source, $6 FROM wanted
       )
       SELECT revision FROM wanted ORDER BY place`,
      [
        definitions.map(({ namespace }) => namespace),
        definitions.map(({ name }) => name),
        definitions.map(({ content }) => JSON.stringify(content)),
        definitions.map(({ hash }) => hash),
        definitions.map(({ source }) => source),
        by,
      ],
    );
    return rows.map(({ revision }) => revision);
  }
}
