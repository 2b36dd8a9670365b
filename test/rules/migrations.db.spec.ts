import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { type DatabaseOptions, DatabaseRefusedError, migrate, migrationOptions, type Schema } from '#rollcall/platform';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { SCHEMA } from '../../apps/api/src/boot/start.js';

let url: string;
let options: DatabaseOptions;

beforeEach(async () => {
  url = await emptyDatabase();
  options = { url, poolSize: 2, operationTimeoutMs: 5_000 };
});
afterEach(async () => await dropDatabase(url));

/** The statements that would make the database match the entities. */
async function drift(schema: Schema): Promise<string[]> {
  const dataSource = await new DataSource(migrationOptions(options, schema)).initialize();
  const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
  await dataSource.destroy();
  return upQueries.map((statement) => statement.query);
}

async function query<Row>(sql: string): Promise<Row[]> {
  const dataSource = await new DataSource(migrationOptions(options, SCHEMA)).initialize();
  const rows = await dataSource.query<Row[]>(sql);
  await dataSource.destroy();
  return rows;
}

@Entity('unmigrated')
class UnmigratedEntity {
  @PrimaryColumn({ type: 'text' }) id: string;
  @Column({ type: 'text' }) name: string;
}

describe('migrations', () => {
  it('migrations make an empty database match the entities', async () => {
    await migrate(options, SCHEMA);
    expect(await drift(SCHEMA)).toEqual([]);
  });

  it('reports that migrations are incomplete if an entity changes without a migration', async () => {
    await migrate(options, SCHEMA);
    expect((await drift({ ...SCHEMA, entities: [...SCHEMA.entities, UnmigratedEntity] })).join()).toContain(
      'unmigrated',
    );
    const lostColumn = await query(`ALTER TABLE api_key DROP COLUMN replaced_by`).then(async () => await drift(SCHEMA));
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
    const dataSource = await new DataSource(migrationOptions(options, SCHEMA)).initialize();
    for (const _ of SCHEMA.migrations) await dataSource.undoLastMigration();
    await dataSource.destroy();
    const tables = await query<{ tablename: string }>(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
    expect(tables.map(({ tablename }) => tablename)).toEqual(['schema_migration']);
  });

  it('rejects a database that a newer version has migrated', async () => {
    await migrate(options, SCHEMA);
    await query(`INSERT INTO schema_migration (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`);
    await expect(migrate(options, SCHEMA)).rejects.toThrow(DatabaseRefusedError);
    await expect(migrate(options, SCHEMA)).rejects.toThrow('FromTheFuture9999999999999');
  });
});
