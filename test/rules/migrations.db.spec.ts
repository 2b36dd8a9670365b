import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { type DatabaseOptions, DatabaseRefusedError, migrate, migrationOptions, type Schema } from '#rollcall/platform';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { SCHEMA } from '../../apps/api/src/boot/start.js';
import { ENTITIES } from '../support/entities.js';

let url: string;
let options: DatabaseOptions;

beforeEach(async () => {
  url = await emptyDatabase();
  options = { url, poolSize: 2, operationTimeoutMs: 5_000 };
});
afterEach(async () => await dropDatabase(url));

/** The statements that would make the database match the entities. */
async function drift(entities = ENTITIES): Promise<string[]> {
  const dataSource = await new DataSource(migrationOptions(options.url, SCHEMA, entities)).initialize();
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  await dataSource.destroy();
  return upQueries.map((statement) => statement.query);
}

/** The schema with the migrations up to this timestamp. The name of a migration ends with its timestamp. */
function schemaAt(timestamp: number): Schema {
  return { ...SCHEMA, migrations: SCHEMA.migrations.filter(({ name }) => Number(name.slice(-13)) <= timestamp) };
}

async function query<Row>(sql: string): Promise<Row[]> {
  const dataSource = await new DataSource(migrationOptions(options.url, SCHEMA)).initialize();
  const rows = await dataSource.query<Row[]>(sql);
  await dataSource.destroy();
  return rows;
}

@Entity('unmigrated')
class UnmigratedEntity {
  @PrimaryColumn({ type: 'text' }) id: string;
  @Column({ type: 'text' }) name: string;
}

/** Objects of every kind, as version 0.1.0 stored them. */
const LARGE_DATABASE = `
  INSERT INTO agent (agent_id, generation, revision, token_hash, name, capabilities, capability_keys, sandbox_level, provider,
    cost_model, labels, budget_used, budget_source, circuit, flap, registered_at, registered_by)
  SELECT 'agent-' || n, 1, 1, md5(n::text), 'agent', '{build}', '{build}', 1, '{"adapter":"a","type":"api","plan":null}',
    '{"usdPerTask":null,"usdPer1kTokens":null}', '{}', 0, 'reported',
    '{"consecutiveFailures":0,"openUntil":null,"opens":0,"probe":null}', '{}', now(), 'key:builders'
  FROM generate_series(1, 100000) AS n;
  INSERT INTO agent_lease (agent_id, generation, token_hash, last_beat_at, forgiven_ms)
  SELECT agent_id, generation, token_hash, now(), 0 FROM agent;
  INSERT INTO budget (kind, subject, window_kind, time_zone, path, window_start, source, declared, created_by)
  SELECT 'agent', agent_id, 'total', 'UTC', '{}'::bigint[], now(), 'reported', true, 'key:builders' FROM agent
  UNION ALL SELECT 'fleet', 'fleet', 'total', 'UTC', '{}'::bigint[], now(), 'ledger', false, 'key:admin';
  INSERT INTO event_log (seq, id, type, subject, capabilities, data, at)
  SELECT n, gen_random_uuid(), 'agent.joined', 'agent-' || n, '{build}', '{"generation":1}', now()
  FROM generate_series(1, 100000) AS n;
  INSERT INTO api_key (id, hash, name, roles, source, created_by) VALUES
    ('one', 'one', 'admin', '{admin}', 'issued', 'test'), ('two', 'two', 'builders', '{agent}', 'issued', 'key:one');
  INSERT INTO webhook (id, url, secret, created_by) VALUES ('hook', 'https://example.com', 'secret', 'key:one');
  INSERT INTO audit_entry (action, actor_id, actor_name, fingerprint, request_id, ip, details)
  VALUES ('key.issued', 'key:one', 'admin', 'f', 'r', '127.0.0.1', '{}')`;

describe('migrations', () => {
  it('migrations make an empty database match the entities', async () => {
    await migrate(options, SCHEMA);
    expect(await drift()).toEqual([]);
  });

  it('reports that migrations are incomplete if an entity changes without a migration', async () => {
    await migrate(options, SCHEMA);
    expect((await drift([...ENTITIES, UnmigratedEntity])).join()).toContain('unmigrated');
    const lostColumn = await query(`ALTER TABLE api_key DROP COLUMN replaced_by`).then(async () => await drift());
    expect(lostColumn.join()).toContain('replaced_by');
  });

  it('migrations run once if three replicas start at the same time', async () => {
    const ran = await Promise.all([migrate(options, SCHEMA), migrate(options, SCHEMA), migrate(options, SCHEMA)]);
    expect(ran.map((names) => names.length).toSorted((a, b) => a - b)).toEqual([0, 0, SCHEMA.migrations.length]);
    const history = await query<{ name: string }>('SELECT name FROM schema_migration');
    expect(history.map(({ name }) => name)).toEqual(SCHEMA.migrations.map(({ name }) => name));
  });

  it('migrations can be reverted', async () => {
    await migrate(options, SCHEMA);
    const dataSource = await new DataSource(migrationOptions(options.url, SCHEMA)).initialize();
    for (const _ of SCHEMA.migrations) await dataSource.undoLastMigration();
    await dataSource.destroy();
    const tables = await query<{ tablename: string }>(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
    expect(tables.map(({ tablename }) => tablename)).toEqual(['schema_migration']);
  });

  it('budgets, reservations and ledger lines from before namespaces belong to the namespace `default`', async () => {
    const budgetNamespaces = 1_763_300_020_000;
    const [before, after] = [budgetNamespaces - 1, budgetNamespaces].map(schemaAt);
    await migrate(options, before);
    await query(`
      INSERT INTO budget (kind, subject, window_kind, time_zone, path, window_start, source, created_by)
      SELECT kind, subject, 'total', 'UTC', '{}', now(), 'ledger', 'test' FROM (VALUES ('agent', 'builder'),
        ('caller', 'key:a'), ('caller', 'oidc:a/b'), ('run', 'run-1'), ('run', 'run-1/x'), ('fleet', 'fleet')) AS b (kind, subject);
      INSERT INTO budget_reservation (owner, key, agent_id, caller_id, run_id, budget_ids, held_tokens, held_micro_usd, state, expires_at)
      VALUES ('oidc:a/b', 'k/1', 'builder', 'oidc:a/b', 'run-1/x', '{}', 1, 0, 'held', now()),
        ('key:a', 'k/1', 'builder', 'key:a', NULL, '{}', 1, 0, 'held', now());
      INSERT INTO budget_entry (budget_id, kind, tokens, micro_usd, own, limit_changed, window_start, owner, key, marks, by)
      SELECT id, 'charged', 0, 0, true, false, now(), 'oidc:a/b', 'k/1', '{}', 'oidc:a/b' FROM budget LIMIT 1`);
    const subjects = async (): Promise<string[]> =>
      (await query<{ row: string }>(`SELECT concat_ws(' ', kind, subject) AS row FROM budget ORDER BY id`)).map(
        (one) => one.row,
      );
    const old = await subjects();
    await migrate(options, after);
    expect(await subjects()).toEqual([
      'agent builder',
      'caller key:a',
      'caller default/oidc:a/b',
      'run run-1',
      'run default/run-1/x',
      'namespace default',
    ]);
    expect(await query('SELECT DISTINCT namespace FROM budget')).toEqual([{ namespace: 'default' }]);
    const spenders = 'owner, key, agent_id, caller_id, run_id';
    expect(await query(`SELECT ${spenders} FROM budget_reservation ORDER BY owner`)).toEqual([
      {
        owner: 'default/oidc:a/b',
        key: 'k/1',
        agent_id: 'builder',
        caller_id: 'default/oidc:a/b',
        run_id: 'default/run-1/x',
      },
      { owner: 'key:a', key: 'k/1', agent_id: 'builder', caller_id: 'key:a', run_id: null },
    ]);
    expect(await query('SELECT owner, key, by FROM budget_entry')).toEqual([
      { owner: 'default/oidc:a/b', key: 'k/1', by: 'oidc:a/b' },
    ]);
    const dataSource = await new DataSource(migrationOptions(options.url, after)).initialize();
    await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await subjects()).toEqual(old);
    expect(await query('SELECT DISTINCT owner FROM budget_reservation ORDER BY owner')).toEqual([
      { owner: 'key:a' },
      { owner: 'oidc:a/b' },
    ]);
  });

  it('R-5 circuits and the statistics of calls move to their own table, and back if the migration is reverted', async () => {
    const circuits = 1_764_010_000_000;
    const [before, after] = [circuits - 1, circuits].map(schemaAt);
    await migrate(options, before);
    const state = { phase: 'open', consecutiveFailures: 5, openings: 1, openUntil: 1_771_927_200_000, probe: null };
    await query(`
      INSERT INTO agent (agent_id, generation, revision, token_hash, name, capabilities, sandbox_level, provider, cost_model, labels,
        budget_used, budget_source, circuit, flap, registered_at, registered_by, observed_ms, last_task_at, outcomes)
      VALUES ('builder', 1, 9, 'hash', 'builder', '{build}', 1, '{}', '{}', '{}', 0, 'reported', '${JSON.stringify(state)}', '{}',
        now(), 'test', 12.5, '2026-02-24T10:00:00Z', 7)`);
    const columns = 'observed_ms, last_task_at, outcomes';
    const moved = { observed_ms: 12.5, last_task_at: new Date('2026-02-24T10:00:00Z'), outcomes: '7' };
    await migrate(options, after);
    expect(await query(`SELECT agent_id, state, version, ${columns} FROM agent_circuit`)).toEqual([
      { agent_id: 'builder', state, version: '0', ...moved },
    ]);
    const dataSource = await new DataSource(migrationOptions(options.url, after)).initialize();
    await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await query(`SELECT circuit, revision, ${columns} FROM agent`)).toEqual([
      { circuit: state, revision: '9', ...moved },
    ]);
  });

  it('a database of version 0.1.0 with 100,000 agents migrates: everything belongs to the namespace `default`', async () => {
    const version010 = 1_763_290_100_000;
    await migrate(options, schemaAt(version010));
    await query(LARGE_DATABASE);
    await migrate(options, SCHEMA);
    for (const table of ['agent', 'budget', 'event_log', 'webhook', 'audit_entry']) {
      const rows = await query(`SELECT namespace, count(*)::int > 0 AS any FROM ${table} GROUP BY namespace`);
      expect({ table, rows }).toEqual({ table, rows: [{ namespace: 'default', any: true }] });
    }
    expect(await query('SELECT count(*)::int FROM agent JOIN agent_lease USING (agent_id, generation)')).toEqual([
      { count: 100_000 },
    ]);
    expect(await query('SELECT count(*)::int FROM agent JOIN agent_circuit USING (agent_id)')).toEqual([
      { count: 100_000 },
    ]);
    expect(await query('SELECT name, namespace FROM api_key ORDER BY name')).toEqual([
      { name: 'admin', namespace: '*' },
      { name: 'builders', namespace: 'default' },
    ]);
    expect(await query(`SELECT kind, subject FROM budget WHERE kind IN ('fleet', 'namespace')`)).toEqual([
      { kind: 'namespace', subject: 'default' },
    ]);
  });

  it('rejects a database that a newer version has migrated', async () => {
    await migrate(options, SCHEMA);
    await query(`INSERT INTO schema_migration (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`);
    await expect(migrate(options, SCHEMA)).rejects.toThrow(DatabaseRefusedError);
    await expect(migrate(options, SCHEMA)).rejects.toThrow('FromTheFuture9999999999999');
  });
});
