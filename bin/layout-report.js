/**
 * `npm run layout [-- <folder>]`: prints how the production code is laid out (files, their sizes, their consumers, the folders, and the
 * exported names that are declared twice). Specs, `testing/` and `generated/` folders are not counted. With `-- <folder>`, it reads another checkout.
 */
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NOT_PRODUCTION = /\.(e2e-)?spec\.ts$|\/(testing|generated)\/|^libs\/test-support\/|\.d\.ts$/;

/** @param {string} root */
function productionFiles(root) {
  return ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => join(folder, file))
      .filter((file) => file.endsWith('.ts') && !NOT_PRODUCTION.test(file) && !file.includes('node_modules')),
  );
}

/**
 * Returns the names that a file declares and exports, and the files it imports from. A specifier such as `#rollcall/registry` is an entry
 * point, so it is no import of the file that declares the name.
 * @param {string} root @param {string} path
 */
function readModule(root, path) {
  const text = readFileSync(join(root, path), 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const names = [];
  const imports = new Set();
  for (const statement of source.statements) {
    const from = statement.moduleSpecifier?.text;
    if (from?.startsWith('.')) imports.add(join(dirname(path), from.replace(/\.js$/, '.ts')));
    if (!ts.canHaveModifiers(statement)) continue;
    if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) continue;
    const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    names.push(...declared.map(({ name }) => name?.text).filter((name) => name !== undefined));
  }
  return { path, lines: text.split('\n').length - 1, names: new Set(names), imports };
}

/**
 * Reads the layout of a checkout.
 * @param {string} root
 */
export function layoutOf(root) {
  const modules = productionFiles(root).map((path) => readModule(root, path));
  const consumers = new Map(modules.map(({ path }) => [path, 0]));
  for (const { path, imports } of modules) {
    if (path.endsWith('/index.ts')) {
      // A file that an entry point exports has consumers elsewhere.
      for (const one of imports) consumers.set(one, (consumers.get(one) ?? 0) + 2);
      continue;
    }
    for (const one of imports) consumers.set(one, (consumers.get(one) ?? 0) + 1);
  }
  const folders = Map.groupBy(modules, ({ path }) => dirname(path));
  const declaredIn = new Map();
  for (const { path, names } of modules) {
    for (const name of names) declaredIn.set(name, [...(declaredIn.get(name) ?? []), path]);
  }
  return { modules, consumers, folders, declaredIn };
}

/**
 * Returns the exported names that more than one file declares.
 * @param {ReturnType<typeof layoutOf>} layout
 */
export function namesDeclaredTwice({ declaredIn }) {
  return [...declaredIn].filter(([, paths]) => paths.length > 1).toSorted(([one], [other]) => one.localeCompare(other));
}

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

/** @param {string} path */
const lastWord = (path) => path.replace(/\.ts$/, '').split('/').at(-1)?.split(/[.-]/).at(-1);

/** @param {string} root */
function settingsOf(root) {
  const example = join(root, '.env.example');
  return readFileSync(example, 'utf8').match(/^#?[A-Z][A-Z0-9_]+=/gm)?.length ?? 0;
}

/** @param {string} root */
function report(root) {
  const layout = layoutOf(root);
  const { modules, consumers, folders } = layout;
  const lines = modules.map((one) => one.lines);
  const total = lines.reduce((sum, count) => sum + count, 0);
  const bySize = [...folders].toSorted(([, one], [, other]) => other.length - one.length);
  const above = (limit) => bySize.filter(([, files]) => files.length > limit);
  const words = Map.groupBy(modules, ({ path }) => lastWord(path));
  const twice = namesDeclaredTwice(layout);
  const rows = [
    ['production files', modules.length],
    ['lines', total],
    ['lines of a file, mean / median', `${Math.round(total / modules.length)} / ${median(lines)}`],
    ['files below 20 lines', lines.filter((count) => count < 20).length],
    ['files with exactly one consumer', [...consumers.values()].filter((count) => count === 1).length],
    ['folders above 25 files', above(25).length],
    ['folders above 15 files', above(15).length],
    ['last words of file names', words.size],
    ['last words used once', [...words.values()].filter((files) => files.length === 1).length],
    ['exported names declared twice', twice.length],
    ['settings', settingsOf(root)],
  ];
  const width = Math.max(...rows.map(([label]) => String(label).length));
  for (const [label, value] of rows) console.log(`${String(label).padEnd(width)}  ${value}`);
  console.log('\nfolders above 15 files');
  for (const [folder, files] of above(15)) console.log(`  ${String(files.length).padStart(3)}  ${folder}`);
  console.log('\nexported names declared twice');
  for (const [name, paths] of twice) console.log(`  ${name}: ${paths.map((path) => relative('.', path)).join(', ')}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = resolve(process.argv[2] ?? ROOT);
  if (!existsSync(join(root, 'libs'))) throw new Error(`${root} is no checkout of Rollcall: it has no folder libs.`);
  report(root);
}
