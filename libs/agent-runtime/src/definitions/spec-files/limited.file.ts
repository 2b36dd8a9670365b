import { lstat, readFile, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { SpecFileError } from './spec.js';

export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Reads a text file below `root`. A link that leads out of `root`, a special file and a file that is too large are rejected. */
export async function readLimited(path: string, root: string, maxBytes: number): Promise<string> {
  const real = await realpath(path);
  if (!isInside(root, real)) throw new SpecFileError(1, 'The link leads out of the folder.');
  const stat = await lstat(real);
  if (!stat.isFile()) throw new SpecFileError(1, 'It is not a regular file.');
  if (stat.size > maxBytes) throw tooLarge(maxBytes);
  return checkedText(await readFile(real), maxBytes);
}

/** The text of a file that is small enough and not binary. */
export function checkedText(bytes: Uint8Array, maxBytes: number): string {
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  if (bytes.includes(0)) throw new SpecFileError(1, 'The file is not a text.');
  return new TextDecoder().decode(bytes);
}

function tooLarge(maxBytes: number): SpecFileError {
  return new SpecFileError(1, `The file has more than ${maxBytes} bytes.`);
}

/** The message of an error of the file system contains the path on this machine, so its code is used instead. */
export function fileProblem(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: string };
  return typeof code === 'string' ? code : (message ?? String(error));
}
