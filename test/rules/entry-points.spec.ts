import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const LIBRARIES = readdirSync(join(ROOT, 'libs'));
const WITH_TEST_HELPERS = LIBRARIES.filter((library) =>
  existsSync(join(ROOT, 'libs', library, 'src/testing/index.ts')),
);
/** The documentation and the examples, whose code imports the libraries as an application or another library does. */
const EXAMPLES = [...textsUnder('docs', /\.md$/), ...textsUnder('examples')];
const SOURCES = ['apps', 'libs', 'test', 'bench', 'bin'].flatMap((folder) => textsUnder(folder));

function textsUnder(folder: string, names = /\.[jt]s$/): string[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const own = files.filter((file) => names.test(file) && !file.includes('node_modules'));
  return own.map((file) => readFileSync(join(ROOT, folder, file), 'utf8'));
}

/** The names between the braces, without `type` and without the alias. */
function namesIn(list: string): string[] {
  const names = list.split(',').map((name) => name.trim().replace(/^type | as .*$/g, ''));
  return names.filter((name) => name !== '');
}

function textOf(library: string, entry: string): string {
  return readFileSync(join(ROOT, 'libs', library, 'src', entry), 'utf8');
}

function exportedBy(entry: string): string[] {
  return [...entry.matchAll(/^export (?:type )?\{([^}]*)\} from/gm)].flatMap(([, list = '']) => namesIn(list));
}

/** The names that these texts import from the modules whose specifiers match the pattern. */
function importedFrom(specifier: string, texts: readonly string[]): Set<string> {
  const source = `'(?:${specifier})'`;
  const statement = new RegExp(
    `(?:import|export|const)(?: type)? \\{([^}]*)\\}(?: from| = await import\\() ?${source}`,
    'g',
  );
  const lists = texts.flatMap((text) => [...text.matchAll(statement)].map(([, list = '']) => list));
  return new Set(lists.flatMap(namesIn));
}

describe('the entry point of a library', () => {
  it.each(LIBRARIES)('exports each name explicitly, and only names that are imported elsewhere: %s', (library) => {
    const entry = textOf(library, 'index.ts');
    expect(entry).not.toContain('export *');
    if (library === 'client') return; // its users are outside this repository
    const imported = importedFrom(`#rollcall/${library}|[./]*dist/libs/${library}/src/index\\.js`, [
      ...SOURCES,
      ...EXAMPLES,
    ]);
    expect(exportedBy(entry).filter((name) => !imported.has(name))).toEqual([]);
  });

  it.each(WITH_TEST_HELPERS)('exports only test helpers that are imported from it: %s', (library) => {
    const entry = textOf(library, 'testing/index.ts');
    expect(entry).not.toContain('export *');
    const outside = importedFrom(`#rollcall/${library}/testing`, [...SOURCES, ...EXAMPLES]);
    const inside = importedFrom('[./]*testing/index\\.js', [...textsUnder(`libs/${library}`), ...EXAMPLES]);
    expect(exportedBy(entry).filter((name) => !outside.has(name) && !inside.has(name))).toEqual([]);
  });
});
