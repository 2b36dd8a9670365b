import { Injectable } from '@nestjs/common';
import { Database, DEFAULT_NAMESPACE } from '#rollcall/platform';
import type { DesiredState } from '#rollcall/registry';
import { AgentNameStore } from './agent-name.store.js';
import { type Definition, isDefinitionName } from './definition.js';
import type { DefinedParts } from './definition.facts.js';
import type { DefinitionRevisionEntity } from './definition.entity.js';

export type RevisionRow = DefinitionRevisionEntity;
export type DefinitionSummary = Pick<RevisionRow, 'name'> & { description: string };
type NewRevision = Omit<RevisionRow, 'revision' | 'createdAt'>;

const COLUMNS = `r.namespace, r.name, r.revision, r.content, r.hash, r.source, r.created_at AS "createdAt",
  r.created_by AS "createdBy"`;
const CURRENT = 'definition AS d JOIN definition_revision AS r USING (namespace, name, revision)';
/** The desired state that an operator has set for the agent of the name. It survives the agent. */
const AGENT_INTENT = `agent_intent AS i WHERE i.agent_id =
  CASE d.namespace WHEN '${DEFAULT_NAMESPACE}' THEN d.name ELSE d.namespace || '/' || d.name END`;
/** An operator neither drains nor quarantines the agent. */
const GETS_WORK = `NOT EXISTS (SELECT FROM ${AGENT_INTENT} AND i.desired_state <> 'active')`;
const FIND_NAMED = `SELECT ${COLUMNS}, coalesce((SELECT i.desired_state FROM ${AGENT_INTENT}), 'active') AS "desiredState"
  FROM ${CURRENT} WHERE namespace = $1 AND name = $2`;
const FIND = `SELECT ${COLUMNS} FROM ${CURRENT} WHERE namespace = $1 AND name = $2`;

@Injectable()
export class DefinitionStore {
  constructor(
    private readonly db: Database,
    private readonly names: AgentNameStore,
  ) {}

  /** Runs `work` in the transaction that is already open, or else in a new one. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    return await this.db.transaction(work);
  }

  /**
   * Adds a definition, or returns undefined if a definition has this name. The caller has locked the name. If a definition with this
   * name was removed, the revision numbers continue after its last one.
   */
  async insert(draft: NewRevision): Promise<RevisionRow | undefined> {
    const { namespace, name } = draft;
    const rows = await this.db.query<{ revision: number }>(
      `INSERT INTO definition (namespace, name, revision)
       SELECT $1, $2, coalesce(max(revision), 0) + 1 FROM definition_revision WHERE namespace = $1 AND name = $2
       ON CONFLICT DO NOTHING RETURNING revision`,
      [namespace, name],
    );
    return rows[0] && (await this.addRevision(draft, rows[0].revision));
  }

  /** The caller has locked the definition. */
  async advance(draft: NewRevision, revision: number): Promise<RevisionRow> {
    const { namespace, name } = draft;
    await this.db.query('UPDATE definition SET revision = $3 WHERE namespace = $1 AND name = $2', [
      namespace,
      name,
      revision,
    ]);
    return await this.addRevision(draft, revision);
  }

  async find(namespace: string, name: string): Promise<RevisionRow | undefined> {
    return (await this.db.query<RevisionRow>({ name: 'definition_find', text: FIND }, [namespace, name]))[0];
  }

  /** Also returns the desired state of its agent. The name may be any text. */
  async findNamed(
    namespace: string,
    name: string,
  ): Promise<(RevisionRow & { desiredState: DesiredState }) | undefined> {
    if (!isDefinitionName(name)) return undefined;
    const statement = { name: 'definition_find_named', text: FIND_NAMED };
    return (await this.db.query<RevisionRow & { desiredState: DesiredState }>(statement, [namespace, name]))[0];
  }

  /** Locks the definition until the transaction ends, and returns its current revision. */
  async lock(namespace: string, name: string): Promise<RevisionRow | undefined> {
    const sql = 'SELECT 1 FROM definition WHERE namespace = $1 AND name = $2 FOR UPDATE';
    // Both statements are sent together, and run in this order.
    const [, held] = await Promise.all([this.names.lockShared(), this.db.query(sql, [namespace, name])]);
    // Only a new statement sees the revision that the previous holder of the lock has written.
    return held.length === 0 ? undefined : await this.find(namespace, name);
  }

  async remove(namespace: string, name: string): Promise<void> {
    await this.db.query('DELETE FROM definition WHERE namespace = $1 AND name = $2', [namespace, name]);
  }

  /** One page of current revisions, by name. */
  async page(namespace: string, limit: number, after = ''): Promise<RevisionRow[]> {
    return await this.db.query<RevisionRow>(
      `SELECT ${COLUMNS} FROM ${CURRENT} WHERE namespace = $1 AND name COLLATE "C" > $2
       ORDER BY name COLLATE "C" LIMIT $3`,
      [namespace, after, limit],
    );
  }

  async summaries(namespace: string, limit: number, among?: readonly string[]): Promise<DefinitionSummary[]> {
    return await this.db.query<DefinitionSummary>(
      `SELECT r.name, r.content->>'description' AS description FROM ${CURRENT}
       WHERE namespace = $1 AND ($3::text[] IS NULL OR name = ANY($3)) ORDER BY name COLLATE "C" LIMIT $2`,
      [namespace, limit, among ?? null],
    );
  }

  /** Like `summaries`, but only definitions whose agents get work. */
  async workingSummaries(namespace: string, limit: number, among?: readonly string[]): Promise<DefinitionSummary[]> {
    return await this.db.query<DefinitionSummary>(
      `SELECT r.name, r.content->>'description' AS description FROM ${CURRENT}
       WHERE namespace = $1 AND ($3::text[] IS NULL OR name = ANY($3)) AND ${GETS_WORK} ORDER BY name COLLATE "C" LIMIT $2`,
      [namespace, limit, among ?? null],
    );
  }

  /** Only definitions whose agents get work. Unless `all`, only those that state capabilities. */
  async capable(namespace: string, all: boolean): Promise<{ name: string; parts: DefinedParts }[]> {
    return await this.db.query<{ name: string; parts: DefinedParts }>(
      `SELECT r.name, jsonb_build_object('capabilities', coalesce(r.content->'capabilities', '[]'), 'model', r.content->'model',
         'provider', r.content->'provider', 'costModel', r.content->'costModel') AS parts FROM ${CURRENT}
       WHERE namespace = $1 AND ($2 OR r.content ? 'capabilities') AND ${GETS_WORK} ORDER BY name COLLATE "C"`,
      [namespace, all],
    );
  }

  async revision(namespace: string, name: string, revision: number): Promise<RevisionRow | undefined> {
    const sql = `SELECT ${COLUMNS} FROM definition_revision AS r WHERE namespace = $1 AND name = $2 AND revision = $3`;
    return (await this.db.query<RevisionRow>(sql, [namespace, name, revision]))[0];
  }

  /** One page of the revisions of a definition, newest first. */
  async revisions(namespace: string, name: string, limit: number, before?: number): Promise<RevisionRow[]> {
    return await this.db.query<RevisionRow>(
      `SELECT ${COLUMNS} FROM definition_revision AS r
       WHERE namespace = $1 AND name = $2 AND ($4::integer IS NULL OR revision < $4) ORDER BY revision DESC LIMIT $3`,
      [namespace, name, limit, before ?? null],
    );
  }

  /** Counts the revisions of a namespace, also of removed definitions. Reads at most `upTo` entries of the primary key. */
  async countRevisions(namespace: string, upTo: number): Promise<number> {
    const sql = `SELECT count(*)::integer AS count
      FROM (SELECT FROM definition_revision WHERE namespace = $1 LIMIT $2) AS stored`;
    return (await this.db.query<{ count: number }>(sql, [namespace, upTo]))[0]?.count ?? 0;
  }

  async countIn(namespace: string): Promise<number> {
    const sql = 'SELECT count(*)::integer AS count FROM definition WHERE namespace = $1';
    return (await this.db.query<{ count: number }>(sql, [namespace]))[0]?.count ?? 0;
  }

  private async addRevision(draft: NewRevision, revision: number): Promise<RevisionRow> {
    const { namespace, name, content, hash, source, createdBy } = draft;
    const rows = await this.db.query<{ createdAt: Date }>(
      `INSERT INTO definition_revision (namespace, name, revision, content, hash, source, created_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING created_at AS "createdAt"`,
      [namespace, name, revision, JSON.stringify(content), hash, source, createdBy],
    );
    return { ...draft, revision, createdAt: rows[0]?.createdAt ?? new Date(0) };
  }
}

export function toDefinition({ createdAt, ...row }: RevisionRow): Definition {
  return { ...row, createdAt: createdAt.toISOString() };
}
