/**
 * Part of `npm run docs`: writes docs/api/<entry point>.md for each entry point of the package, from the declarations that
 * `npm run declarations` has written to dist/. A test compares the exported names with the pages.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * What an entry point exports under one name.
 * @typedef {object} Exported
 * @property {string} name
 * @property {ts.Statement[]} declarations One, or the overloads of a function. Empty: it comes from another package.
 * @property {string} [from] The other package.
 */

/** @type {Map<string, ts.SourceFile>} */
const files = new Map();

/** @param {string} path */
function fileAt(path) {
  const known = files.get(path) ?? ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  files.set(path, known);
  return known;
}

/** @param {ts.SourceFile} file @param {string} specifier */
function fileOf(file, specifier) {
  return fileAt(join(dirname(file.fileName), specifier).replace(/\.js$/, '.d.ts'));
}

/** The names that a module exports, without those of `export *`: these are the generated schemas of the API. @param {ts.SourceFile} file @returns {string[]} */
function namesOf(file) {
  return file.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause } = statement;
      if (exportClause && ts.isNamedExports(exportClause)) return exportClause.elements.map(({ name }) => name.text);
      return [];
    }
    return isExported(statement) ? declaredIn(statement) : [];
  });
}

/** @param {ts.Statement} statement */
function isExported(statement) {
  return (
    ts.canHaveModifiers(statement) && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

/** @param {ts.Statement} statement @returns {string[]} */
function declaredIn(statement) {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const { name } = /** @type {{ name?: ts.Node }} */ (statement);
  return name ? [name.getText()] : [];
}

/** Follows exports and imports to the declarations. @param {ts.SourceFile} file @param {string} name @returns {Exported} */
function find(file, name) {
  const declarations = file.statements.filter((statement) => declaredIn(statement).includes(name));
  if (declarations.length > 0) return { name, declarations };
  for (const statement of file.statements) {
    if (!ts.isExportDeclaration(statement) && !ts.isImportDeclaration(statement)) continue;
    const list = ts.isExportDeclaration(statement) ? statement.exportClause : statement.importClause?.namedBindings;
    if (!list || !(ts.isNamedExports(list) || ts.isNamedImports(list))) continue;
    const found = [...list.elements].find((element) => element.name.text === name);
    if (!found) continue;
    const original = (found.propertyName ?? found.name).text;
    const from = statement.moduleSpecifier?.text;
    if (from === undefined) return { ...find(file, original), name };
    return from.startsWith('.') ? { ...find(fileOf(file, from), original), name } : { name, declarations: [], from };
  }
  throw new Error(`${file.fileName} does not export ${name}.`);
}

const NOTE = 'This page is made from the declarations of the package (`npm run docs`).';

/** @param {ts.Node} node */
function commentOf(node) {
  const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  return comment ? (ts.getTextOfJSDocComment(comment.comment) ?? '') : '';
}

/** The declaration as a user needs it: without its comment, which is text of the page, and without private members. */
function codeOf(/** @type {ts.Statement} */ declaration) {
  const file = declaration.getSourceFile();
  const start = declaration.getStart(file);
  const cuts = ts.isClassDeclaration(declaration)
    ? declaration.members.filter((member) =>
        ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword),
      )
    : [];
  let text = '';
  let at = start;
  for (const cut of cuts) {
    text += file.text.slice(at, cut.getFullStart());
    at = cut.getEnd();
  }
  if (file.fileName.includes('/generated/')) return '';
  return (text + file.text.slice(at, declaration.getEnd())).replace(/^export (declare )?/, '');
}

/** @returns {{ name: string, exported: Exported[], about: string }[]} */
function entryPoints() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([path, { types }]) => {
    if (!types) return [];
    const file = fileAt(join(ROOT, types));
    const exported = [...new Set(namesOf(file))].toSorted().map((name) => find(file, name));
    const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(file.text) ?? [];
    return [{ name: path.replace('./', ''), exported, about: comment.replaceAll(/^[ *]+/gm, '') }];
  });
}

/** The exported names that have no comment. @returns {string[]} */
export function missingComments() {
  return entryPoints().flatMap(({ name: entry, exported }) =>
    exported
      .filter(({ declarations, from }) => from === undefined && !declarations.some((one) => commentOf(one) !== ''))
      .map(({ name }) => `rollcall/${entry}: ${name}`),
  );
}

/** @returns {Promise<{ path: string, text: string }[]>} */
export async function apiPages() {
  const options = await resolveConfig(join(ROOT, 'docs/page.md'));
  const pages = entryPoints().map(async ({ name, exported, about }) => {
    const parts = exported.map(({ name: title, declarations, from }) => {
      if (from !== undefined)
        return `## ${title}\n\n\`${title}\` of the package \`${from}\`, in the version that Rollcall uses.\n`;
      const comment = declarations.map(commentOf).find((text) => text !== '') ?? '';
      const code = declarations.map(codeOf).join('\n');
      return `## ${title}\n\n${comment}\n${code && `\n\`\`\`ts\n${code}\n\`\`\`\n`}`;
    });
    const text = `# rollcall/${name}\n\n${about}\n\n${NOTE}\n\n${parts.join('\n')}`;
    return { path: `docs/api/${name}.md`, text: await format(text, { ...options, parser: 'markdown' }) };
  });
  return await Promise.all(pages);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(join(ROOT, 'docs/api'), { recursive: true });
  for (const { path, text } of await apiPages()) writeFileSync(join(ROOT, path), text);
  for (const name of missingComments()) console.log(`No comment: ${name}`);
}
