import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** Searches for package.json in the parent folders, because the sources and dist/ have different depths. */
function readVersion(): string {
  for (let folder = new URL('./', import.meta.url); folder.pathname !== '/'; folder = new URL('../', folder)) {
    const version = tryRead(fileURLToPath(new URL('package.json', folder)));
    if (version) return version;
  }
  return 'unknown';
}

function tryRead(file: string): string | undefined {
  try {
    return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export const VERSION = readVersion();

/** The version of an agent in catalogs and cards. In the registry API of MCP, `latest` means the newest version. */
export function versionOf(declared: string | null | undefined): string {
  return !declared || declared === 'latest' ? '0.0.0' : declared;
}
