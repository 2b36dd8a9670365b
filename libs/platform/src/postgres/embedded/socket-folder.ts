import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolderError } from './data-folder.js';

/** The path of a socket, including the file name, is limited to about 100 characters. */
const MAX_PARENT_LENGTH = 80;

/**
 * Creates a folder for the socket of the server, in `preferred` if it exists and its path is short enough, otherwise in
 * /tmp.
 */
export function makeSocketFolder(preferred = tmpdir()): string {
  const parent = existsSync(preferred) && preferred.length <= MAX_PARENT_LENGTH ? preferred : '/tmp';
  try {
    return mkdtempSync(join(parent, 'rollcall-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new DataFolderError(
      `The folder for the socket of Postgres cannot be created in ${parent} (${code}). Set TMPDIR to a writable folder.`,
      { cause: error },
    );
  }
}
