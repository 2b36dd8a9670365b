import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const LIBRARIES = readdirSync(join(ROOT, 'libs'));
const SOURCES = ['apps', 'libs', 'test', 'bench', 'bin'].flatMap(textsUnder);

function textsUnder(folder: string): string[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /\.[jt]s$/.test(file)).map((file) => readFileSync(join(ROOT, folder, file), 'utf8'));
}

/** The names between the braces, without `type` and without the alias. */
function namesIn(list: string): string[] {
  const names = list.split(',').map((name) => name.trim().replace(/^type | as .*$/g, ''));
  return names.filter((name) => name !== '');
}

function exportedBy(library: string): string[] {
  const entry = readFileSync(join(ROOT, 'libs', library, 'src/index.ts'), 'utf8');
  return [...entry.matchAll(/^export (?:type )?\{([^}]*)\} from/gm)].flatMap(([, list = '']) => namesIn(list));
}

/** The names that other libraries, the application, tests, benches and scripts import from the entry point. */
function importedFrom(library: string): Set<string> {
  const source = `'(?:#rollcall/${library}|[./]*dist/libs/${library}/src/index\\.js)'`;
  const statement = new RegExp(
    `(?:import|export|const)(?: type)? \\{([^}]*)\\}(?: from| = await import\\() ?${source}`,
    'g',
  );
  const lists = SOURCES.flatMap((text) => [...text.matchAll(statement)].map(([, list = '']) => list));
  return new Set(lists.flatMap(namesIn));
}

describe('the entry point of a library', () => {
  it.each(LIBRARIES)('exports names one by one, and only those that are imported elsewhere: %s', (library) => {
    const entry = readFileSync(join(ROOT, 'libs', library, 'src/index.ts'), 'utf8');
    expect(entry).not.toContain('export *');
    const imported = importedFrom(library);
    expect(exportedBy(library).filter((name) => !imported.has(name))).toEqual([]);
  });
});
