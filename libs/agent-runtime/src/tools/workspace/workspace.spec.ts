import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { aRun, TestCalls } from '../../testing/tool-calls.js';
import { DEFAULT_TOOLS_OPTIONS } from '../tools.options.js';
import { DEFAULT_WORKSPACE_LIMITS, WorkspaceFolder } from './workspace.folder.js';
import { globMatcher, searchFiles } from './workspace.search.js';
import { workspaceToolBox } from './workspace.toolbox.js';
import { Workspaces } from './workspaces.js';

const SECRET = 'the secret outside';

let base: string;
let root: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'workspaces-'));
  root = join(base, 'inside');
  mkdirSync(root);
  writeFileSync(join(base, 'secret.txt'), SECRET);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** The tools of one run, whose workspace is below `root`. */
function tools(run = aRun()): { calls: TestCalls; path: string } {
  const workspaces = new Workspaces({ ...DEFAULT_TOOLS_OPTIONS, workspaces: { root } });
  return { calls: new TestCalls(workspaceToolBox(workspaces), {}, run), path: join(root, 'default', run.rootRunId) };
}

describe('the tools for files', () => {
  it('S4.10 write, read, list, search and edit a file', async () => {
    const { calls } = tools();
    const written = await calls.call('write_file', { path: 'src/main.ts', content: 'const a = 1;\nconst b = 2;\n' });
    expect(written).toEqual({ failed: false, output: 'src/main.ts was created: 26 bytes.' });
    expect((await calls.call('read_file', { path: './src//main.ts' })).output).toBe('1\tconst a = 1;\n2\tconst b = 2;');
    expect((await calls.call('read_file', { path: 'src/main.ts', firstLine: 2, lines: 1 })).output).toBe(
      '2\tconst b = 2;',
    );
    expect((await calls.call('list_files', { pattern: '*.ts' })).output).toBe('src/main.ts 26');
    expect((await calls.call('search_files', { pattern: 'B\\s=', ignoreCase: true })).output).toBe(
      'src/main.ts:2: const b = 2;',
    );
    const edit = { path: 'src/main.ts', oldText: 'const a = 1;', newText: "const a = '$&';" };
    expect((await calls.call('edit_file', edit)).output).toBe('src/main.ts: 1 place was replaced.');
    expect((await calls.call('read_file', { path: 'src/main.ts' })).output).toContain("1\tconst a = '$&';");
  });

  it('S4.10 the runs of a tree share a workspace, and other runs have their own', async () => {
    await tools().calls.call('write_file', { path: 'a.txt', content: 'a' });
    const child = tools(aRun({ runId: 'run-2', depth: 1 })).calls;
    expect((await child.call('read_file', { path: 'a.txt' })).output).toBe('1\ta');
    const other = tools(aRun({ runId: 'run-3', rootRunId: 'run-3' })).calls;
    expect((await other.call('list_files')).output).toBe('No files.');
  });

  it.each([
    ['no match', { oldText: 'z', newText: 'y' }, 'does not contain oldText'],
    ['two matches', { oldText: 'a', newText: 'y' }, 'contains oldText 2 times'],
    ['no change', { oldText: 'b', newText: 'b' }, 'nothing would change'],
    ['an empty text', { oldText: '', newText: 'y' }, 'oldText'],
  ])('S4.10 an edit with %s changes nothing and says what to do', async (_name, edit, message) => {
    const { calls, path } = tools();
    await calls.call('write_file', { path: 'f.txt', content: 'a b a' });
    const result = await calls.call('edit_file', { path: 'f.txt', ...edit });
    expect(result.failed).toBe(true);
    expect(result.output).toContain(message);
    expect(readFileSync(join(path, 'f.txt'), 'utf8')).toBe('a b a');
  });

  it('S4.10 edits of one file at the same time are all applied', async () => {
    const { path } = tools();
    mkdirSync(path, { recursive: true });
    const folder = new WorkspaceFolder(path);
    await folder.write('n.txt', '0');
    await Promise.all(Array.from({ length: 50 }, () => folder.edit('n.txt', (text) => String(Number(text) + 1))));
    expect(await folder.readText('n.txt')).toBe('50');
  });

  it('S4.10 todo_write keeps the list in the memory of the run and reports progress', async () => {
    const { calls } = tools();
    const todos = [{ text: 'read', state: 'done' }, { text: 'write' }];
    expect(JSON.parse((await calls.call('todo_write', { todos })).output)).toEqual({
      todos: [todos[0], { text: 'write', state: 'open' }],
    });
    expect(calls.memory.get('todos')).toHaveLength(2);
    expect(calls.reported).toEqual(['1 of 2 done']);
  });

  it('S4.10 a file that is not a text cannot be read as one', async () => {
    const { calls, path } = tools();
    await calls.call('list_files');
    writeFileSync(join(path, 'image.png'), Buffer.from([1, 0, 2]));
    expect((await calls.call('read_file', { path: 'image.png' })).output).toContain('is not a text file');
    expect((await calls.call('search_files', { pattern: '.' })).output).toBe('No matches.');
  });
});

describe('a hostile path', () => {
  const UP = ['..', '../..', 'a/../..', './..', 'a/./../..', '../inside/../..'];
  const PATHS = [
    ...UP.map((up) => `${up}/secret.txt`),
    ...UP.map((up) => `${up}\\secret.txt`),
    '/etc/passwd',
    '//etc/passwd',
    '/proc/self/environ',
    'C:\\secret.txt',
    '\\\\host\\share',
    '~/../secret.txt',
    'a\0b',
    'a\nb',
    'a\rb',
    'a\u202eb',
    'a\u200bb',
    'a\u2028b',
    '\ud800',
    '',
    '.',
    './',
    '..',
    '.rollcall-0123',
    `${'a/'.repeat(40)}b`,
    'n'.repeat(256),
    'é'.repeat(200),
    'n'.repeat(2_000),
    '%2e%2e/secret.txt',
    '..%2fsecret.txt',
    '..%00/secret.txt',
    '\u2024\u2024/secret.txt',
    '．．/secret.txt',
    'file:///etc/passwd',
    '..;/secret.txt',
    '.../secret.txt',
    '....//secret.txt',
  ];
  const LINKS = ['link.txt', 'folder/secret.txt', 'proc/self/environ', 'loop', 'loop/x', 'here/../../secret.txt'];

  it.each([...PATHS, ...LINKS])('S4.10 %j reaches nothing outside the workspace', async (hostile) => {
    const { calls, path } = tools();
    await calls.call('list_files');
    symlinkSync(join(base, 'secret.txt'), join(path, 'link.txt'));
    symlinkSync(base, join(path, 'folder'));
    symlinkSync('/proc', join(path, 'proc'));
    symlinkSync('loop', join(path, 'loop'));
    const inputs: [string, object][] = [
      ['read_file', { path: hostile }],
      ['write_file', { path: hostile, content: 'owned' }],
      ['edit_file', { path: hostile, oldText: 'secret', newText: 'owned' }],
    ];
    const outputs = [];
    for (const [name, input] of inputs) outputs.push((await calls.call(name, input)).output);
    outputs.push((await calls.call('search_files', { pattern: 'secret|root' })).output);
    outputs.push((await calls.call('list_files', { pattern: hostile })).output);
    expect(outputs.join('\n')).not.toMatch(/the secret outside|root:/);
    expect(outputs.join('\n')).not.toContain(base); // the model does not learn where the workspace is
    expect(readFileSync(join(base, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(readdirSync(base).toSorted()).toEqual(['inside', 'secret.txt']);
    expect(readdirSync(root)).toEqual(['default']);
    expect(readdirSync(join(root, 'default'))).toEqual(['run-1']);
  });

  it('S4.10 a FIFO and a device are not opened', async () => {
    const { calls, path } = tools();
    await calls.call('list_files');
    execFileSync('mkfifo', [join(path, 'pipe')]);
    symlinkSync('/dev/zero', join(path, 'zero'));
    for (const name of ['pipe', 'zero']) {
      expect(await calls.call('read_file', { path: name })).toMatchObject({ failed: true });
      expect(await calls.call('write_file', { path: name, content: 'x' })).toMatchObject({ failed: true });
    }
    expect((await calls.call('list_files')).output).toBe('No files.');
  });

  it('S4.10 a folder that becomes a link while it is used leads nowhere', async () => {
    const { calls, path } = tools();
    await calls.call('write_file', { path: 'dir/secret.txt', content: 'inside' });
    let swaps = 0;
    const race = { isOver: false };
    const swapping = (async () => {
      for (; !race.isOver; swaps += 1) {
        try {
          renameSync(join(path, 'dir'), join(path, 'kept'));
          symlinkSync(base, join(path, 'dir'));
          await new Promise(setImmediate);
          rmSync(join(path, 'dir'));
          renameSync(join(path, 'kept'), join(path, 'dir'));
        } catch (error) {
          // the tools have created the folder at the same moment
          expect((error as NodeJS.ErrnoException).code).toMatch(/^(EEXIST|ENOTEMPTY|EISDIR|ERR_FS_EISDIR)$/);
          rmSync(join(path, 'dir'), { recursive: true, force: true });
          rmSync(join(path, 'kept'), { recursive: true, force: true });
          mkdirSync(join(path, 'dir'));
        }
        await new Promise(setImmediate);
      }
    })();
    const outputs: string[] = [];
    for (let round = 0; round < 200; round += 1) {
      outputs.push((await calls.call('read_file', { path: 'dir/secret.txt' })).output);
      outputs.push((await calls.call('write_file', { path: 'dir/secret.txt', content: 'inside' })).output);
    }
    race.isOver = true;
    await swapping;
    expect(swaps).toBeGreaterThan(0);
    expect(outputs.filter((output) => output.includes(SECRET))).toEqual([]);
    expect(readFileSync(join(base, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(readdirSync(base).toSorted()).toEqual(['inside', 'secret.txt']);
  });
});

describe('the limits of a workspace', () => {
  const folderWith = (limits: Partial<typeof DEFAULT_WORKSPACE_LIMITS>): WorkspaceFolder =>
    new WorkspaceFolder(root, { ...DEFAULT_WORKSPACE_LIMITS, ...limits });

  it('S4.10 apply to one file, to all files and to their number', async () => {
    const folder = folderWith({ maxFileBytes: 10, maxBytes: 25, maxEntries: 4 });
    await expect(folder.write('large', 'x'.repeat(11))).rejects.toThrow('11 bytes');
    await folder.write('a', 'x'.repeat(10));
    await folder.write('b', 'x'.repeat(10));
    await expect(folder.write('c', 'x'.repeat(10))).rejects.toThrow('may have 25 bytes');
    await folder.write('c', 'x');
    await folder.write('d', 'x');
    await expect(folder.write('e', 'x')).rejects.toThrow('may have 4 files');
    expect(readdirSync(root).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('S4.10 a file that a program made too large is not read', async () => {
    const folder = folderWith({ maxFileBytes: 10 });
    writeFileSync(join(root, 'large'), 'x'.repeat(11));
    await expect(folder.readText('large')).rejects.toThrow('cannot be read');
  });

  it('S4.10 a write that fails leaves the old file and nothing else', async () => {
    const folder = folderWith({});
    await folder.write('a', 'old');
    const failing = (): never => {
      throw new Error('no');
    };
    await expect(folder.edit('a', failing)).rejects.toThrow('no');
    mkdirSync(join(root, 'taken'));
    await expect(folder.write('taken', 'x')).rejects.toThrow('is a folder');
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('old');
    expect(readdirSync(root).toSorted()).toEqual(['a', 'taken']);
  });

  it('S4.10 a replica that is killed while it writes never leaves half a file', async () => {
    const hooks = pathToFileURL(join(import.meta.dirname, '../../../../../test/support/typescript.hooks.js')).href;
    const folderFile = pathToFileURL(join(import.meta.dirname, 'workspace.folder.ts')).href;
    const program = `const { WorkspaceFolder } = await import(${JSON.stringify(folderFile)});
      const folder = new WorkspaceFolder(${JSON.stringify(root)});
      for (let round = 0; ; round += 1) {
        await folder.write('file', String(round % 10).repeat(1_000_000));
        if (round === 0) process.stdout.write('writes');
      }`;
    for (const delayMs of [0, 7, 23]) {
      const child = spawn(process.execPath, ['--import', hooks, '--input-type=module', '-e', program]);
      const ended = once(child, 'exit');
      await once(child.stdout, 'data');
      await setTimeout(delayMs);
      child.kill('SIGKILL');
      await ended;
      const text = readFileSync(join(root, 'file'), 'utf8');
      expect([text.length, new Set(text).size]).toEqual([1_000_000, 1]);
      expect((await folderWith({}).files()).map(({ path }) => path)).toEqual(['file']);
    }
  });

  it('S4.10 an unfinished file of a crashed replica is invisible', async () => {
    writeFileSync(join(root, '.rollcall-0011'), 'half');
    expect(await folderWith({}).files()).toEqual([]);
  });
});

describe('a pattern of files', () => {
  it('S4.10 S-2 is bounded, so that a path is compared in a short time', () => {
    expect(() => globMatcher('*a'.repeat(21))).toThrow('20 wildcards');
    expect(() => globMatcher('a'.repeat(201))).toThrow('200 characters');
  });
});

describe('a search', () => {
  it('S4.10 takes linear time and gives way to other work', async () => {
    const folder = new WorkspaceFolder(root);
    await folder.write('a.txt', `${'a'.repeat(1_900)}\n`.repeat(200));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const { matches } = await searchFiles(folder, { pattern: '(a+)+b' }, new AbortController().signal);
    clearInterval(timer);
    expect(matches).toEqual([]);
    expect(turns).toBeGreaterThan(0);
    const many = searchFiles(folder, { pattern: '(a?){900}a{900}' }, new AbortController().signal);
    await expect(many).rejects.toThrow('repeated 100 times');
  });

  it('S4.10 ends when the run is cancelled', async () => {
    const folder = new WorkspaceFolder(root);
    await folder.write('a.txt', 'x\n'.repeat(100_000));
    const abort = new AbortController();
    const running = searchFiles(folder, { pattern: 'y' }, abort.signal);
    abort.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
  });

  it('S4.10 says that there may be more matches', async () => {
    const folder = new WorkspaceFolder(root);
    await folder.write('a.txt', 'x\n'.repeat(10));
    const limits = { maxMatches: 3, maxBytes: 1_000 };
    const found = await searchFiles(folder, { pattern: 'x' }, new AbortController().signal, limits);
    expect(found).toMatchObject({ matches: { length: 3 }, cut: 'Only the first 3 matches.' });
  });

  it('S4.10 explains a pattern that it cannot use', async () => {
    const folder = new WorkspaceFolder(root);
    const search = searchFiles(folder, { pattern: '(?<=a)b' }, new AbortController().signal);
    await expect(search).rejects.toThrow('RE2');
  });

  it.each([
    ['*.ts', 'src/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/x/y/a.ts', true],
    ['src/**', 'src/x/a', true],
    ['**', 'x/y', true],
    ['a?.md', 'ab.md', true],
    ['a?.md', 'a/.md', false],
    ['*.{ts,tsx}', 'x/a.tsx', true],
    ['{a,b}/c', 'b/c', true],
    ['a+b(c).txt', 'a+b(c).txt', true],
    ['[ab].txt', 'a.txt', false],
    ['./src/a.ts', 'src/a.ts', true],
  ])('S4.10 the pattern %s and the path %s: %s', (glob, path, expected) => {
    expect(globMatcher(glob)(path)).toBe(expected);
  });
});
