import { resolve } from 'node:path';
import { command, option, required, type Session } from '../command.js';
import { usageError } from '../failure.js';
import { readGivenFile } from '../given.file.js';
import type { View } from '../output/view.js';
import { applyBudget, applyDefinition, applyKey, type Change, type Document } from './apply.kinds.js';

const CHANGES: View<Change> = {
  plural: 'documents',
  name: ({ kind, name }) => `${kind}/${name}`,
  columns: [
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'CHANGE', value: ({ change }) => change, state: true },
    {
      title: 'DIFFERENCES',
      value: ({ differences }) =>
        differences
          .map(
            ({ field, before, after }) =>
              `${field}: ${JSON.stringify(before ?? null)} → ${JSON.stringify(after ?? null)}`,
          )
          .join('; '),
    },
  ],
};

const KINDS = { definition: applyDefinition, budget: applyBudget, key: applyKey };

export const applyCommands = [
  command({
    name: 'apply',
    about: 'Create or change the definitions, budgets and keys that a file describes.',
    details:
      'The file has YAML documents with `kind: definition`, `budget` or `key`; docs/cli.md shows one. What the file does not mention stays as it is. Applied again, the file changes nothing.',
    example: 'rollcall apply -f fleet.yaml --dry-run',
    permission: 'definitions:write',
    options: {
      file: required(option.list('FILE', 'A file; - reads stdin.', { short: 'f' })),
      dryRun: option.flag('Change nothing, and print the differences.'),
    },
    run: async (session, _, { file, dryRun }) => await apply(session, file ?? [], dryRun),
  }),
];

/** All documents are checked before the first change. */
async function apply(session: Session, files: readonly string[], dryRun: boolean): Promise<void> {
  const { io, output, client } = session;
  const documents: Document[] = [];
  for (const file of files) documents.push(...(await documentsOf(io, file)));
  if (documents.length === 0) throw usageError(`There are no documents in ${files.join(', ')}.`);
  const target = { rollcall: await client(), folder: io.folder, dryRun };
  const changes: Change[] = [];
  try {
    for (const document of documents) changes.push(await KINDS[document.kind](target, document));
  } finally {
    // after an error, too: the documents before it were applied
    if (changes.length > 0) await output.list(CHANGES, changes);
  }
  if (dryRun) output.note('Dry run: nothing was changed.');
}

async function documentsOf(io: Session['io'], file: string): Promise<Document[]> {
  const text = file === '-' ? await io.readInput() : readGivenFile(resolve(io.folder, file));
  const { parseAllDocuments } = await import('yaml');
  const parsed = parseAllDocuments(text);
  const documents = Array.isArray(parsed) ? parsed : [];
  return documents.map((document, at) => {
    const [error] = document.errors;
    if (error) throw usageError(`${file}: ${error.message}`);
    return checked(document.toJS(), `${file}, document ${at + 1}`);
  });
}

function checked(value: unknown, where: string): Document {
  const document = value as Partial<Document> | null;
  if (typeof document !== 'object' || document === null)
    throw usageError(`${where}: a document must be an object with \`kind\`.`);
  if (document.kind === undefined || !Object.hasOwn(KINDS, document.kind))
    throw usageError(`${where}: \`kind\` must be one of ${Object.keys(KINDS).join(', ')}.`);
  return document as Document;
}
