import { globSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type {
  DefinitionSummaryView,
  DefinitionView,
  EffectiveView,
  FieldChangeView,
  ImportedFileView,
} from '#rollcall/client';
import { command, option, type Session } from '../command.js';
import { EXIT, type ExitCode, usageError } from '../failure.js';
import { readGivenFile } from '../given.file.js';
import { age, count, money } from '../output/text.js';
import { ProgressBar } from '../output/progress.bar.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList } from './listing.js';

const DEFINITIONS: View<DefinitionSummaryView> = {
  plural: 'definitions',
  name: ({ name }) => name,
  columns: [
    { title: 'NAME', whole: true, value: ({ name }) => name },
    { title: 'REVISION', value: ({ revision }) => revision, right: true },
    { title: 'SOURCE', value: ({ source }) => source },
    { title: 'AGE', value: ({ createdAt }, now) => age(createdAt, now), right: true },
    { title: 'DESCRIPTION', value: ({ description }) => description },
    { title: 'CAPABILITIES', value: ({ capabilities }) => capabilities.join(','), wide: true },
    { title: 'BY', value: ({ createdBy }) => createdBy, wide: true },
  ],
};

const DEFINITION: View<DefinitionView> = {
  plural: 'definitions',
  name: ({ name }) => name,
  columns: [
    { title: 'NAME', value: ({ name }) => name },
    { title: 'REVISION', value: ({ revision }) => revision },
    { title: 'SOURCE', value: ({ source }) => source },
    { title: 'AGE', value: ({ createdAt }, now) => age(createdAt, now) },
    { title: 'BY', value: ({ createdBy }) => createdBy },
    { title: 'DESCRIPTION', value: ({ content }) => content.description },
    {
      title: 'MODEL',
      value: ({ content }) => (typeof content.model === 'string' ? content.model : JSON.stringify(content.model)),
    },
    { title: 'TOOLS', value: ({ content }) => content.tools?.join(',') },
  ],
};

const CHANGES: View<FieldChangeView> = {
  plural: 'differences',
  name: ({ field }) => field,
  columns: [
    { title: 'FIELD', value: ({ field }) => field },
    { title: 'BEFORE', value: ({ before }) => valueText(before) },
    { title: 'AFTER', value: ({ after }) => valueText(after) },
  ],
};

const EFFECTIVE: View<EffectiveView & { name: string }> = {
  plural: 'definitions',
  name: ({ name }) => name,
  columns: [
    { title: 'NAME', value: ({ name }) => name },
    { title: 'PROVIDER', value: ({ provider }) => provider },
    {
      title: 'MODEL',
      value: ({ model }) => (model === undefined ? null : modelText(model)),
    },
    { title: 'TOOLS', value: ({ tools }) => tools.map(({ name }) => name).join(', ') },
    { title: 'SKILLS', value: ({ skills }) => skills.map(({ name, mode }) => `${name} (${mode})`).join(', ') },
    {
      title: 'LIMITS',
      value: ({ limits }) => `${limits.maxIterations} iterations, ${limits.maxDelegationDepth} levels of delegation`,
    },
    {
      title: 'BUDGETS',
      value: ({ budgets }) =>
        budgets
          .map(({ kind, remaining }) => `${kind}: ${count(remaining.tokens)} tokens, ${money(remaining.microUsd)} left`)
          .join('; '),
    },
  ],
};

const FILES: View<ImportedFileView> = {
  plural: 'files',
  name: ({ path }) => path,
  columns: [
    { title: 'FILE', value: ({ path }) => path },
    {
      title: 'RESULT',
      value: ({ definitions, errors }) =>
        errors.length > 0 ? 'rejected' : definitions.map(({ change }) => change).join(',') || 'skipped',
      state: true,
    },
    { title: 'DEFINITIONS', value: ({ definitions }) => definitions.map(({ name }) => name).join(',') },
    {
      title: 'PROBLEMS',
      whole: true,
      value: ({ warnings, errors }) =>
        [...errors, ...warnings].map(({ line, message }) => `line ${line}: ${message}`).join('; '),
    },
  ],
};

/** Below the default limit of a request body, with room for JSON escapes. */
const BATCH_BYTES = 100_000;
const BATCH_FILES = 50;

export const definitionCommands = [
  command({
    name: 'definitions list',
    about: 'List definitions.',
    example: 'rollcall definitions list',
    permission: 'definitions:read',
    options: LIST_OPTIONS,
    run: async (session, _, options) => {
      const client = await session.client();
      await printList(session, DEFINITIONS, () => client.definitions.list({}), options);
    },
  }),
  command({
    name: 'definitions get',
    about: 'Show a definition.',
    example: 'rollcall definitions get clerk -o yaml',
    permission: 'definitions:read',
    arguments: { name: 'Name of the definition.' },
    run: async ({ client, output }, { name }) => {
      const definition = await (await client()).definitions.get(name);
      await output.item(DEFINITION, definition, [definition.content.instructions]);
    },
  }),
  command({
    name: 'definitions import',
    about: 'Register the definitions in files, or replace them.',
    details: 'A folder stands for all its .md and .json files. A file without changes makes no new revision.',
    example: 'rollcall definitions import agents --dry-run',
    permission: 'definitions:write',
    arguments: { 'paths...': 'Files and folders.' },
    options: {
      dryRun: option.flag('Change nothing, and print what would change.'),
      strict: option.flag('Reject files with warnings.'),
    },
    run: async (session, { paths }, options) => await importFiles(session, paths, options),
  }),
  command({
    name: 'definitions diff',
    about: 'Show the differences of two revisions.',
    example: 'rollcall definitions diff clerk',
    permission: 'definitions:read',
    arguments: { name: 'Name of the definition.' },
    options: {
      from: option.number('REVISION', 'The earlier revision (default: the one before the last).'),
      to: option.number('REVISION', 'The later revision (default: the last).'),
    },
    run: async ({ client, output }, { name }, { from, to }) => {
      const { definitions } = await client();
      const revisions = (await definitions.listRevisions(name, { limit: 2 }).page()).items.map(
        ({ revision }) => revision,
      );
      const later = to ?? revisions[0] ?? 1;
      const { changes } = await definitions.diff(name, { from: from ?? revisions[1] ?? later, to: later });
      await output.list(CHANGES, changes);
    },
  }),
  command({
    name: 'definitions effective',
    about: 'Show what an agent of this definition gets: its model, tools, skills and limits.',
    example: 'rollcall definitions effective clerk',
    permission: 'definitions:read',
    arguments: { name: 'Name of the definition.' },
    run: async ({ client, output }, { name }) =>
      await output.item(EFFECTIVE, { name, ...(await (await client()).definitions.getEffective(name)) }),
  }),
  command({
    name: 'definitions delete',
    about: 'Remove a definition.',
    example: 'rollcall definitions delete $DEFINITION --yes',
    permission: 'definitions:write',
    destroys: true,
    arguments: { name: 'Name of the definition.' },
    run: async ({ client, output, confirm }, { name }) => {
      await confirm(`Remove the definition ${name}?`);
      await (await client()).definitions.unregister(name);
      await output.done(`Removed the definition ${name}.`, { name: () => name }, { name, removed: true });
    },
  }),
];

async function importFiles(
  { client, output, io }: Session,
  paths: readonly string[],
  { dryRun, strict }: { dryRun: boolean; strict: boolean },
): Promise<ExitCode | void> {
  const files = paths.flatMap((path) => definitionFiles(io.folder, path));
  if (files.length === 0) throw usageError(`There are no definitions in ${paths.join(', ')}.`);
  const rollcall = await client();
  const bar = new ProgressBar(io, output.isText, 'Importing', files.length);
  const results: ImportedFileView[] = [];
  let rejected = 0;
  try {
    for (const batch of batches(files)) {
      const report = await rollcall.definitions.import({ files: batch, dryRun, strict });
      results.push(...report.files);
      rejected += report.rejected;
      bar.advance(batch.length);
    }
  } finally {
    bar.end();
  }
  await output.list(FILES, results);
  if (dryRun) output.note('Dry run: nothing was changed.');
  return rejected > 0 ? EXIT.failed : EXIT.done;
}

interface DefinitionFile {
  readonly path: string;
  readonly content: string;
}

function definitionFiles(folder: string, path: string): DefinitionFile[] {
  const full = resolve(folder, path);
  const found = statSync(full, { throwIfNoEntry: false });
  if (!found) throw usageError(`There is no file or folder ${path}.`);
  if (!found.isDirectory()) return [{ path: relative(folder, full) || path, content: readGivenFile(full) }];
  const names = globSync('**/*.{md,json}', { cwd: full }).toSorted();
  return names.map((name) => ({ path: name.split(sep).join('/'), content: readGivenFile(join(full, name)) }));
}

function batches(files: readonly DefinitionFile[]): DefinitionFile[][] {
  const result: DefinitionFile[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    bytes += file.content.length;
    const last = result.at(-1);
    if (last === undefined || bytes > BATCH_BYTES || last.length === BATCH_FILES) {
      result.push([file]);
      bytes = file.content.length;
    } else last.push(file);
  }
  return result;
}

function valueText(value: unknown): string | undefined {
  return value === undefined || value === null || typeof value === 'string'
    ? (value ?? undefined)
    : JSON.stringify(value);
}

function modelText({ choice, because }: NonNullable<EffectiveView['model']>): string {
  const { vendor, model } = choice as { vendor?: string; model?: string };
  return `${vendor ?? ''}/${model ?? ''} (${because})`;
}
