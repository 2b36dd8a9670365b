import { readFileSync } from 'node:fs';
import { usageError } from './failure.js';

/** Reads a file that the user has named. */
export function readGivenFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw usageError(REASONS[code]?.(file) ?? `${file} cannot be read: ${code}.`);
  }
}

const REASONS: Partial<Record<string, (file: string) => string>> = {
  ENOENT: (file) => `There is no file ${file}.`,
  EISDIR: (file) => `${file} is a folder, not a file.`,
  EACCES: (file) => `You may not read ${file}.`,
};
