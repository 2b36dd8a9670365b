import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolderError } from './data-folder.js';

/** The path of a socket is limited to about 100 characters, its own name included. */
const LONGEST_PARENT = 80;

/** A new folder for the server's socket, where temporary files go if that is there and its path is short enough. */
export function makeSocketFolder(preferred = tmpdir()): string {
  const parent = existsSync(preferred) && preferred.length <= LONGEST_PARENT ? preferred : '/tmp';
  try {
    return mkdtempSync(join(parent, 'rollcall-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new DataFolderError(
      `No folder for the socket of Postgres can be made in ${parent} (${code}). Set TMPDIR to a folder that can be written.`,
      { cause: error },
    );
  }
}
