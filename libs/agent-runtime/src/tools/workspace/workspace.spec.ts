import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { aRun, TestCalls } from '../../testing/tool-calls.js';
import { DEFAULT_TOOLS_OPTIONS } from '../tools.options.js';
import { DEFAULT_WORKSPACE_LIMITS, WorkspaceFolder } from './workspace.folder.js';
import { globMatcher, searchFiles, TOO_MANY_FILES } from './workspace.search.js';
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

const HOOKS = pathToFileURL(join(import.meta.dirname, '../../../../../test/support/typescript.hooks.js')).href;
const FOLDER_SOURCE = pathToFileURL(join(import.meta.dirname, 'workspace.folder.ts')).href;
/** How Node executes a program that can import `FOLDER_SOURCE`. */
const nodeArgs = (program: string): string[] => ['--import', HOOKS, '--input-type=module', '-e', program];

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

  it('S4.10 an edit of a file that was changed after it was read changes nothing and says what to do', async () => {
    const { calls, path } = tools();
    await calls.call('write_file', { path: 'f.txt', content: 'const a = 1;' });
    expect((await calls.call('read_file', { path: 'f.txt' })).output).toBe('1\tconst a = 1;');
    writeFileSync(join(path, 'f.txt'), 'const b = 1;');
    const result = await calls.call('edit_file', { path: 'f.txt', oldText: 'const a', newText: 'const c' });
    expect(result).toMatchObject({ failed: true, output: expect.stringContaining('Read the file again') as string });
    expect(readFileSync(join(path, 'f.txt'), 'utf8')).toBe('const b = 1;');
  });

  it('S4.10 a change whose call has ended while it waited for another change is not made', async () => {
    const folder = new WorkspaceFolder(root);
    const [other, late] = [Promise.withResolvers<void>(), new AbortController()];
    const changing = folder.change(async () => await other.promise);
    const writing = folder.write('a', 'late', late.signal);
    late.abort(new Error('the time limit'));
    await expect(writing).rejects.toThrow('the time limit');
    other.resolve();
    await changing;
    expect(readdirSync(root)).toEqual([]);
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

/** Skipped where the tests may not create namespaces. */
const itIsolated = mayMount() ? it : it.skip;

function mayMount(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // namespaces are not allowed here
  }
}

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

  it('S4.10 a file of 1 GB that a program made is not read, and leaves no room for others', async () => {
    const folder = folderWith({});
    writeFileSync(join(root, 'large'), '');
    truncateSync(join(root, 'large'), 2 ** 30); // it takes no space on the disk
    await expect(folder.readText('large')).rejects.toThrow('has 1073741824 bytes');
    await expect(folder.write('small', 'x')).rejects.toThrow('its files may have 268435456 bytes');
    expect((await searchFiles(folder, { pattern: 'x' }, new AbortController().signal)).cut).toContain('were searched');
  });

  it('S4.10 of more files than a workspace may have, some are found, and none is added', async () => {
    const folder = folderWith({ maxEntries: 100 });
    mkdirSync(join(root, 'many'));
    for (let file = 0; file < 1_000; file += 1) writeFileSync(join(root, 'many', String(file)), 'x');
    const { files, isComplete } = await folder.files();
    expect([files.length, isComplete]).toEqual([99, false]);
    await expect(folder.write('one-more', 'x')).rejects.toThrow('may have 100 files');
    const { signal } = new AbortController();
    expect(await searchFiles(folder, { pattern: 'y' }, signal)).toEqual({ matches: [], cut: TOO_MANY_FILES });
  });

  it('S4.10 do not apply to a workspace in which a command was executed, on any replica', async () => {
    const limits = { maxBytes: 2, maxEntries: 2 };
    await folderWith(limits).write('a', 'xx');
    await expect(folderWith(limits).write('b', 'x')).rejects.toThrow('is full');
    await folderWith(limits).allowCommands();
    await folderWith(limits).write('b', 'xxx');
    await folderWith(limits).write('c', 'x');
    expect((await folderWith(limits).files()).files.map(({ path }) => path)).not.toContain('.rollcall-commands');
  });

  it('S4.10 the folders of tools are listed and searched only if the pattern names them', async () => {
    const { calls } = tools();
    for (const path of ['src/a.js', 'node_modules/x/b.js', 'sub/node_modules/c.js', '.git/config', '.github/ci.yml'])
      await calls.call('write_file', { path, content: 'found' });
    const listed = async (pattern?: string): Promise<string> => (await calls.call('list_files', { pattern })).output;
    expect(await listed()).toBe('.github/ci.yml 5\nsrc/a.js 5');
    expect(await listed('node_modules/**')).toBe('node_modules/x/b.js 5');
    expect(await listed('**/node_modules/*.js')).toBe('sub/node_modules/c.js 5');
    const { output } = await calls.call('search_files', { pattern: 'found', files: '.git/*' });
    expect(output).toBe('.git/config:1: found');
    expect((await calls.call('read_file', { path: 'node_modules/x/b.js' })).output).toBe('1\tfound');
  });

  it('S4.10 files that no path can name are left out, and do not disturb the others', async () => {
    const { calls, path } = tools();
    await calls.call('write_file', { path: 'good', content: 'x' });
    for (const name of ['two\nlines', 'bi\u202edi', 'back\\slash', 'zero\u200bwidth'])
      writeFileSync(join(path, name), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff, 0x61])]), 'x'); // not UTF-8
    expect((await calls.call('list_files')).output).toBe('good 1');
    expect((await calls.call('search_files', { pattern: 'x' })).output).toBe('good:1: x');
    expect((await calls.call('write_file', { path: 'new', content: 'x' })).failed).toBe(false);
  });

  it('S4.10 files that disappear while they are listed do not disturb the others', async () => {
    const folder = folderWith({});
    const listings: Promise<unknown>[] = [];
    for (let round = 0; round < 50; round += 1) {
      mkdirSync(join(root, 'short'));
      for (let file = 0; file < 20; file += 1) writeFileSync(join(root, 'short', String(file)), 'x');
      listings.push(folder.files());
      await new Promise(setImmediate);
      rmSync(join(root, 'short'), { recursive: true });
    }
    expect((await Promise.all(listings)).length).toBe(50);
  });

  itIsolated('S4.10 on a full disk, the old file stays and the error does not say where it is', async () => {
    const program = `const { WorkspaceFolder } = await import(${JSON.stringify(FOLDER_SOURCE)});
      const folder = new WorkspaceFolder(${JSON.stringify(root)});
      const tried = async (path, bytes) => await folder.write(path, 'x'.repeat(bytes)).then(() => 'written', (error) => error.message);
      const answers = [await tried('a', 50_000), await tried('a', 100_000), await tried('new/folder/b', 10)];
      console.log(JSON.stringify({ answers, files: (await folder.files()).files }));`;
    const script = 'mount -t tmpfs -o size=128k,nr_inodes=4 none "$1" && shift && exec "$@"';
    const args = ['-rm', 'sh', '-c', script, 'sh', root, process.execPath, ...nodeArgs(program)];
    const { answers, files } = JSON.parse(execFileSync('unshare', args, { encoding: 'utf8' })) as Record<
      string,
      unknown
    >;
    expect(answers).toEqual([
      'written',
      'a cannot be written: the disk is full.',
      'new/folder/b cannot be written: the disk is full.',
    ]);
    expect(files).toEqual([{ path: 'a', bytes: 50_000 }]);
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
    const program = `const { WorkspaceFolder } = await import(${JSON.stringify(FOLDER_SOURCE)});
      const folder = new WorkspaceFolder(${JSON.stringify(root)});
      for (let round = 0; ; round += 1) {
        await folder.write('file', String(round % 10).repeat(1_000_000));
        if (round === 0) process.stdout.write('writes');
      }`;
    for (const delayMs of [0, 7, 23]) {
      const child = spawn(process.execPath, nodeArgs(program));
      const ended = once(child, 'exit');
      await once(child.stdout, 'data');
      await setTimeout(delayMs);
      child.kill('SIGKILL');
      await ended;
      const text = readFileSync(join(root, 'file'), 'utf8');
      expect([text.length, new Set(text).size]).toEqual([1_000_000, 1]);
      expect(await folderWith({}).files()).toEqual({ files: [{ path: 'file', bytes: 1_000_000 }], isComplete: true });
    }
  });

  it('S4.10 a workspace in which a program made folders read-only is deleted', () => {
    const source = pathToFileURL(join(import.meta.dirname, 'workspaces.ts')).href;
    const program = `const { Workspaces } = await import(${JSON.stringify(source)});
      const { chmodSync, readdirSync, symlinkSync } = await import('node:fs');
      const workspaces = new Workspaces({ workspaces: { root: ${JSON.stringify(root)} } });
      const key = { namespace: 'default', workspaceId: 'run-1' };
      const folder = await workspaces.of(key);
      for (const path of ['go/pkg/mod/cache.go', 'closed/file']) await folder.write(path, 'x');
      symlinkSync(${JSON.stringify(base)}, folder.root + '/go/pkg/link');
      for (const path of ['/go/pkg/mod', '/go/pkg', '/go']) chmodSync(folder.root + path, 0o500);
      chmodSync(folder.root + '/closed', 0);
      await workspaces.remove(key);
      console.log(readdirSync(${JSON.stringify(join(root, 'default'))}).length);`;
    chmodSync(base, 0o755);
    const nobody = { uid: 65_534, gid: 65_534 };
    const user = process.getuid?.() === 0 ? nobody : {}; // root could delete them anyway
    if (user === nobody) chownSync(root, nobody.uid, nobody.gid);
    expect(execFileSync(process.execPath, nodeArgs(program), { ...user, encoding: 'utf8' })).toBe('0\n');
    expect(readFileSync(join(base, 'secret.txt'), 'utf8')).toBe(SECRET);
  });

  it('S4.10 an unfinished file of a crashed replica is invisible', async () => {
    writeFileSync(join(root, '.rollcall-0011'), 'half');
    expect(await folderWith({}).files()).toEqual({ files: [], isComplete: true });
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
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await folder.write(name, `${'a'.repeat(1_900)}\n`.repeat(1_000));
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
