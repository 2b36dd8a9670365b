import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { PriceList } from '#rollcall/providers';

const OWN_LIST = 'deploy/model-prices.json';

/** Reads a price list; without a path, the list of this version. Throws an error for the operator. */
export function readPriceList(path: string): PriceList {
  const file = path === '' ? ownList() : path;
  const text = readText(file);
  try {
    return PriceList.parse(JSON.parse(text));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : 'it is not JSON';
    throw new Error(`${file} is not a price list: ${reason}. See docs/models.md.`, { cause: error });
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new Error(`the price list ${file} cannot be read (${code})`, { cause: error });
  }
}

/** Searches in the parent folders, because the sources and dist/ have different depths. */
function ownList(): string {
  for (let folder = new URL('./', import.meta.url); folder.pathname !== '/'; folder = new URL('../', folder)) {
    const file = fileURLToPath(new URL(OWN_LIST, folder));
    if (existsSync(file)) return file;
  }
  return OWN_LIST;
}
