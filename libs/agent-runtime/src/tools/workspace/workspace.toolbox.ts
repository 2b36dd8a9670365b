import { z } from 'zod';
import { defineTool, type Tool, type ToolBox, toolBox } from '../tool.js';
import { OMITTED, WorkspaceError } from './workspace.folder.js';
import { matchingFiles, searchFiles, TOO_MANY_FILES } from './workspace.search.js';
import { workspaceOf, type Workspaces } from './workspaces.js';

/** The name of the toolbox. */
export const WORKSPACE = 'workspace';

const MAX_LISTED = 1_000;
const DEFAULT_LINES = 2_000;
const MAX_TODOS = 100;
/** The key of the memory of the run that contains the list of `todo_write`. */
const TODOS = 'todos';

const LEFT_OUT = `The folders ${OMITTED.join(' and ')} are left out, unless the file pattern names them.`;

const Path = z.string().min(1).describe('Relative to the workspace, such as src/main.ts.');

const ReadInput = z.strictObject({
  path: Path,
  firstLine: z.int().positive().default(1).describe('The first line to return.'),
  lines: z.int().positive().max(10_000).default(DEFAULT_LINES).describe('How many lines to return.'),
});
const WriteInput = z.strictObject({ path: Path, content: z.string() });
const EditInput = z.strictObject({
  path: Path,
  oldText: z.string().min(1).describe('The exact text to replace, with its indentation.'),
  newText: z.string(),
  all: z.boolean().default(false).describe('Whether all occurrences are replaced. Otherwise there must be one.'),
});
const ListInput = z.strictObject({
  pattern: z.string().optional().describe('A glob such as *.ts or src/**/*.{ts,tsx}. If absent, all files are listed.'),
});
const SearchInput = z.strictObject({
  pattern: z.string().min(1).describe('A regular expression in the syntax of RE2. Each line is searched.'),
  files: z.string().optional().describe('A glob for the files to search, such as *.ts.'),
  ignoreCase: z.boolean().default(false),
});
const Todo = z.strictObject({
  text: z.string().min(1).max(500),
  state: z.enum(['open', 'in_progress', 'done']).default('open'),
});
const TodoInput = z.strictObject({ todos: z.array(Todo).max(MAX_TODOS).describe('The whole list, in order.') });

/** The tools that read and change the files of the workspace of a run. */
export function workspaceToolBox(workspaces: Workspaces): ToolBox {
  return toolBox(WORKSPACE, [
    readFile(workspaces),
    writeFile(workspaces),
    editFile(workspaces),
    listFiles(workspaces),
    search(workspaces),
    TODO_WRITE,
  ]);
}

function readFile(workspaces: Workspaces): Tool {
  return defineTool({
    name: 'read_file',
    description: 'Returns the lines of a text file of the workspace, each with its number.',
    input: ReadInput,
    idempotent: true,
    async execute({ path, firstLine, lines }, { run }) {
      const folder = await workspaces.of(workspaceOf(run));
      const all = (await folder.readText(path)).split('\n');
      if (all.at(-1) === '') all.pop();
      if (all.length === 0) return `${path} is empty.`;
      if (firstLine > all.length)
        throw new WorkspaceError(`${path} has ${all.length} lines; firstLine is ${firstLine}.`);
      const last = Math.min(all.length, firstLine - 1 + lines);
      const shown = all.slice(firstLine - 1, last).map((line, index) => `${firstLine + index}\t${line}`);
      const rest = last < all.length ? `\n[Lines ${last + 1} to ${all.length} follow.]` : '';
      return shown.join('\n') + rest;
    },
  });
}

function writeFile(workspaces: Workspaces): Tool {
  return defineTool({
    name: 'write_file',
    description:
      'Writes a file of the workspace. It replaces an existing file as a whole, and creates missing folders.',
    input: WriteInput,
    idempotent: true,
    async execute({ path, content }, { run, signal }) {
      const folder = await workspaces.of(workspaceOf(run));
      const isNew = await folder.write(path, content, signal);
      return `${path} was ${isNew ? 'created' : 'replaced'}: ${Buffer.byteLength(content)} bytes.`;
    },
  });
}

function editFile(workspaces: Workspaces): Tool {
  return defineTool({
    name: 'edit_file',
    description:
      'Replaces a text in a file of the workspace. The text must occur exactly as given, and only once unless `all` is true.',
    input: EditInput,
    idempotent: false, // a repeated edit would not find its text, or change the file again
    async execute({ path, oldText, newText, all }, { run, signal }) {
      if (oldText === newText) throw new WorkspaceError('oldText and newText are equal, so nothing would change.');
      const folder = await workspaces.of(workspaceOf(run));
      let count = 0;
      const change = (text: string): string => {
        count = text.split(oldText).length - 1;
        checkCount(path, count, all);
        return text.replaceAll(oldText, () => newText);
      };
      await folder.edit(path, change, signal);
      return `${path}: ${count} ${count === 1 ? 'place was' : 'places were'} replaced.`;
    },
  });
}

function checkCount(path: string, count: number, all: boolean): void {
  if (count === 0)
    throw new WorkspaceError(
      `${path} does not contain oldText. Read the file again and copy the text exactly, with its indentation.`,
    );
  if (count > 1 && !all)
    throw new WorkspaceError(
      `${path} contains oldText ${count} times. Add more of the text around it, or set all to true.`,
    );
}

function listFiles(workspaces: Workspaces): Tool {
  return defineTool({
    name: 'list_files',
    description: `Lists the files of the workspace, with their size in bytes. ${LEFT_OUT}`,
    input: ListInput,
    idempotent: true,
    async execute({ pattern }, { run, signal }) {
      const { files, isComplete } = await matchingFiles(await workspaces.of(workspaceOf(run)), pattern, signal);
      const lines = files.slice(0, MAX_LISTED).map(({ path, bytes }) => `${path} ${bytes}`);
      if (files.length === 0) lines.push('No files.');
      if (files.length > MAX_LISTED) lines.push(`[${files.length - MAX_LISTED} more files. Use a pattern.]`);
      if (!isComplete) lines.push(`[${TOO_MANY_FILES}]`);
      return lines.join('\n');
    },
  });
}

function search(workspaces: Workspaces): Tool {
  return defineTool({
    name: 'search_files',
    description: `Finds the lines of the files of the workspace that match a regular expression. ${LEFT_OUT}`,
    input: SearchInput,
    idempotent: true,
    async execute({ pattern, files, ignoreCase }, { run, signal }) {
      const folder = await workspaces.of(workspaceOf(run));
      const { matches, cut } = await searchFiles(folder, { pattern, glob: files, ignoreCase }, signal);
      const lines = matches.map(({ path, line, text }) => `${path}:${line}: ${text}`);
      if (lines.length === 0) lines.push('No matches.');
      return [...lines, ...(cut === undefined ? [] : [`[${cut}]`])].join('\n');
    },
  });
}

const TODO_WRITE = defineTool({
  name: 'todo_write',
  description:
    'Replaces the list of what is to be done in this run. Use it to plan work with several steps, and to report progress.',
  input: TodoInput,
  idempotent: true,
  execute({ todos }, context) {
    context.memory.set(TODOS, todos);
    const done = todos.filter(({ state }) => state === 'done').length;
    context.progress(`${done} of ${todos.length} done`);
    return { todos };
  },
});
