import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadFromDirectory, loadFromFile } from './spec.loader.js';

const CORPUS = join(import.meta.dirname, '../../../../../test/fixtures/specs');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'specs-'));
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

async function write(file: string, text: string): Promise<string> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

const spec = (name: string): string => `---\nname: ${name}\ndescription: About ${name}.\n---\nYou are ${name}.\n`;
const names = async (path = folder): Promise<string[]> =>
  (await loadFromDirectory(path)).loaded.map(({ name }) => name);
const rejected = async (path = folder): Promise<string[]> =>
  (await loadFromDirectory(path)).rejected.map(({ file, line, message }) => `${file}:${line} ${message}`);

describe('S4.2 loading spec files from a folder', () => {
  it('loads all Markdown and JSON files of all levels, sorted by name', async () => {
    await write('zeta.md', spec('zeta'));
    await write('team/Alpha.MD', spec('alpha'));
    await write('team/deep/more.json', '{ "beta": { "description": "b", "prompt": "b" } }');
    await write('notes.txt', spec('notes'));
    expect((await loadFromDirectory(folder)).loaded.map(({ name, file, line }) => [name, file, line])).toEqual([
      ['alpha', 'team/Alpha.MD', 2],
      ['beta', 'team/deep/more.json', 1],
      ['zeta', 'zeta.md', 2],
    ]);
  });

  it('finds .claude/agents in a project, and loads nothing else of the project', async () => {
    const report = await loadFromDirectory(join(CORPUS, 'project'));
    expect(report).toMatchObject({ warned: [], rejected: [], skipped: [{ file: 'README.md' }] });
    expect(report.loaded.map(({ name, file }) => [name, file])).toEqual([
      ['reviewer', 'reviewer.md'],
      ['writer', 'team/writer.md'],
    ]);
  });

  it('ignores hidden files and node_modules', async () => {
    await write('.draft.md', spec('draft'));
    await write('.git/x.md', spec('git'));
    await write('node_modules/package/agent.md', spec('package'));
    await write('a.md', spec('a'));
    expect(await names()).toEqual(['a']);
  });

  it('S4.3 M-8 of specs with the same name, the first path is loaded and the others are reported; with prefixes, all are loaded', async () => {
    const duplicates = join(CORPUS, 'duplicates');
    const remedy = 'Rename one of them, or set ROLLCALL_AGENTS_PREFIX to folder.';
    const message = `This agent is ignored, because first.md also contains an agent reviewer. ${remedy}`;
    const report = await loadFromDirectory(duplicates);
    expect(report).toMatchObject({ rejected: [], warned: [{ file: 'team/second.md', line: 2, message }] });
    expect(report.loaded.map(({ file, name }) => `${file} ${name}`)).toEqual(['other.json other', 'first.md reviewer']);
    expect(await loadFromDirectory(duplicates, { strict: true })).toMatchObject({
      rejected: [{ message }],
      warned: [],
    });
    expect((await loadFromDirectory(duplicates, {}, true)).loaded.map(({ name }) => name)).toEqual([
      'other',
      'reviewer',
      'team:reviewer',
    ]);
  });

  it('S4.3 reports the line of each name that several specs have, including JSON and agent_type', async () => {
    await write('a.json', '{\n  "description": "a",\n  "name": "x"\n}');
    await write('b.json', '{\n  "x": { "description": "a", "prompt": "b" }\n}');
    await write('c.md', '---\ndescription: c\nagent_type: x\n---\nYou are x.\n');
    const { loaded, warned } = await loadFromDirectory(folder);
    const ignored = warned.filter(({ message }) => message.includes('is ignored'));
    expect([...loaded, ...ignored].map(({ file, line }) => `${file}:${line}`)).toEqual([
      'a.json:3',
      'b.json:2',
      'c.md:3',
    ]);
  });

  it('S4.3 a wrong file never stops the others', async () => {
    await write('a.md', spec('a'));
    await write('b.md', '---\nname: [\n');
    await write('c.json', '{');
    await write('d.md', spec('d'));
    expect(await names()).toEqual(['a', 'd']);
    expect((await rejected()).map((text) => text.split(' ')[0])).toEqual(['b.md:1', 'c.json:1']);
  });

  it('rejects a file of 1 MB', async () => {
    await write('large.md', spec('large') + 'x'.repeat(1_048_576));
    expect(await names()).toEqual([]);
    expect(await rejected()).toEqual(['large.md:1 The file has more than 524288 bytes.']);
  });

  it('reports a folder that does not exist, without its absolute path', async () => {
    expect(await rejected(join(folder, 'missing'))).toEqual(['.:1 The folder does not exist.']);
  });

  it('loads the whole corpus: each file has a result', async () => {
    const report = await loadFromDirectory(CORPUS);
    const seen = [...report.loaded, ...report.rejected].map(({ file }) => file);
    expect(new Set([...seen, ...report.skipped.map(({ file }) => file)]).size).toBeGreaterThan(75);
  });
});

describe('S4.3 links in a folder of specs', () => {
  let outside: string;
  beforeEach(async () => {
    outside = await mkdtemp(join(tmpdir(), 'outside-'));
    await writeFile(join(outside, 'secret.md'), spec('secret'));
    await write('agents/a.md', spec('a'));
  });
  afterEach(async () => await rm(outside, { recursive: true, force: true }));

  const agents = (): string => join(folder, 'agents');

  it.each([
    ['file', 'secret.md', 'link.md'],
    ['folder', '.', 'link'],
  ])('rejects a link to a %s outside the folder', async (_what, target, link) => {
    await symlink(join(outside, target), join(agents(), link));
    expect(await names(agents())).toEqual(['a']);
    expect(await rejected(agents())).toEqual([`${link}:1 The link leads out of the folder.`]);
  });

  it('rejects a link that leads nowhere', async () => {
    await symlink(join(folder, 'missing.md'), join(agents(), 'link.md'));
    expect(await rejected(agents())).toEqual(['link.md:1 The link leads nowhere.']);
  });

  it('loads the target of a link inside the folder once, even if the link is a loop', async () => {
    await symlink(join(agents(), 'a.md'), join(agents(), 'b.md'));
    await symlink(agents(), join(agents(), 'loop'));
    expect([await names(agents()), await rejected(agents())]).toEqual([['a'], []]);
  });

  it('loads a folder that is itself a link, because the operator has chosen it', async () => {
    await symlink(agents(), join(folder, 'chosen'));
    expect(await names(join(folder, 'chosen'))).toEqual(['a']);
  });

  it('rejects a .claude/agents that leads out of the project', async () => {
    await mkdir(join(folder, 'project/.claude'), { recursive: true });
    await symlink(outside, join(folder, 'project/.claude/agents'));
    expect(await names(join(folder, 'project'))).toEqual([]);
    expect(await rejected(join(folder, 'project'))).toEqual([
      '.:1 .claude/agents is a link that leads out of the folder.',
    ]);
  });
});

describe('S4.2 loading one spec file', () => {
  it('returns the same report as for a folder', async () => {
    const path = await write('a.md', spec('a'));
    expect(await loadFromFile(path)).toEqual(await loadFromDirectory(folder));
  });

  it('reports a file that does not exist', async () => {
    const { rejected: problems } = await loadFromFile(join(folder, 'missing.md'));
    expect(problems).toEqual([{ file: 'missing.md', line: 1, message: 'The file does not exist.' }]);
  });

  it('reports a folder instead of a file', async () => {
    const { rejected: problems } = await loadFromFile(folder);
    expect(problems).toEqual([expect.objectContaining({ message: 'It is not a regular file.' })]);
  });
});
