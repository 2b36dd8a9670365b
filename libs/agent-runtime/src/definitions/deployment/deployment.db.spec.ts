import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable, Logger } from '@nestjs/common';
import { readAll, type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { type TestRuntime, testRuntime, type TestRuntimeOptions } from '../../testing/index.js';
import { AgentDefinition } from './definition.explorer.js';

let database: TestDatabase;
let folder: string;
const started: TestRuntime[] = [];
const warnings: string[] = [];
/** The number of files with warnings, rejected files and skipped files that the last start logged. */
let loadedFiles: object = {};
beforeAll(async () => {
  database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'rollcall-agents-'));
});
beforeEach(async () => {
  await database.db.query('TRUNCATE definition, definition_revision');
  warnings.length = 0;
});
afterEach(async () => {
  for (const { sources } of started.splice(0)) await sources.close();
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await database.drop();
});

const CONTENT = { description: 'Reviews code.', instructions: 'Review.' };
const FILE = (name: string, more = ''): string => `---\nname: ${name}\ndescription: From a file.\n${more}---\nDo it.\n`;

async function runtime(options: TestRuntimeOptions = {}, db = database.db): Promise<TestRuntime> {
  const one = await testRuntime(db, options);
  started.push(one);
  const ignore = (): void => undefined;
  const warn = ({ message = '' }: { message?: string }): void => void warnings.push(message);
  const log = (line: { files?: object }): void => void (loadedFiles = line.files ?? loadedFiles);
  Logger.overrideLogger({ log, error: ignore, warn }); // the testing module sets its own logger
  return one;
}

async function start(options: TestRuntimeOptions = {}): Promise<TestRuntime> {
  const one = await runtime(options);
  await one.sources.onApplicationBootstrap();
  return one;
}

async function listed({ definitions }: TestRuntime, namespace = 'default'): Promise<string[]> {
  const all = await definitions.list(namespace, 100);
  return all.map(({ name, revision, source }) => `${name} ${revision} ${source}`);
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
}

const configured = (agents: object): TestRuntimeOptions => ({ configured: { agents: { ...agents } } });

@Injectable()
@AgentDefinition({ name: 'decorated', ...CONTENT, tools: ['clock'] })
class DecoratedAgent {}

describe('definitions of the deployment', () => {
  it('S0.7 S4.1 a start registers definitions of code, decorators, configuration and files', async () => {
    await write('reviewer.md', FILE('from-file', 'tools: Read, clock\nmodel: sonnet\n'));
    const here = await start({
      definitions: [{ name: 'from-code', ...CONTENT }],
      providers: [DecoratedAgent],
      ...configured({ 'from-config': CONTENT }),
      files: { folder },
    });
    expect(await listed(here)).toEqual([
      'decorated 1 code',
      'from-code 1 code',
      'from-config 1 config',
      'from-file 1 file',
    ]);
    expect(await here.definitions.get({ namespace: 'default', name: 'from-file' })).toMatchObject({
      createdBy: 'deployment',
      content: { tools: ['clock'], instructions: 'Do it.', model: 'sonnet' },
    });
    expect(warnings.join('\n')).toContain('reviewer.md:4: These tools are off');
  });

  it('S0.7 a start writes a revision only when the content differs, and removes definitions that are no longer configured', async () => {
    await start(configured({ a: CONTENT, b: CONTENT }));
    const same = await start(configured({ b: { instructions: 'Review.', description: 'Reviews code.' }, a: CONTENT }));
    expect(await listed(same)).toEqual(['a 1 config', 'b 1 config']);
    const changed: string[] = [];
    const next = await runtime(configured({ a: { ...CONTENT, maxIterations: 3 }, c: CONTENT }));
    next.definitions.onChanged((namespace, name) => changed.push(`${namespace}/${name}`));
    await next.sources.onApplicationBootstrap();
    expect(await listed(next)).toEqual(['a 2 config', 'c 1 config']);
    expect(changed).toEqual(['default/a', 'default/b']);
    while ((await next.events.sequencer.runOnce()).moved > 0);
    const events = (await readAll(next.events)).slice(-3).map(({ type, subject }) => `${type} ${subject}`);
    expect(events.toSorted()).toEqual([
      'definition.registered c',
      'definition.replaced a',
      'definition.unregistered b',
    ]);
    expect(await listed(await start(configured({ a: CONTENT, b: CONTENT })))).toEqual(['a 3 config', 'b 2 config']);
  });

  it('S0.7 replicas that start together write one revision, and a name that REST registers at the same moment has one owner', async () => {
    const other = await database.connectAgain();
    const agents = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, CONTENT]));
    const replicas = await Promise.all(
      [database.db, other, database.db, other].map(async (db) => await runtime(configured(agents), db)),
    );
    const rest = { namespace: 'default', name: 'd', content: CONTENT, source: 'rest', by: 'key:test' } as const;
    const [result] = await Promise.allSettled([
      replicas[0]?.definitions.register(rest),
      ...replicas.map(async ({ sources }) => await sources.onApplicationBootstrap()),
    ]);
    const owner = result.status === 'fulfilled' ? 'rest' : 'config';
    for (const one of replicas)
      expect(await listed(one)).toEqual(['a 1 config', 'b 1 config', 'c 1 config', `d 1 ${owner}`]);
  });

  it('S0.7 if two versions of the deployment start at the same time, the definitions of only one version remain', async () => {
    const version = (iterations: number): object =>
      Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { ...CONTENT, maxIterations: iterations }]));
    const replicas = await Promise.all([1, 2, 1, 2].map(async (number) => await runtime(configured(version(number)))));
    await Promise.all(replicas.map(async ({ sources }) => await sources.onApplicationBootstrap()));
    const all = (await replicas[0]?.definitions.list('default', 10)) ?? [];
    expect(all).toHaveLength(3);
    expect(new Set(all.map(({ content }) => content.maxIterations)).size).toBe(1);
  });

  it('S0.7 a definition of REST keeps its name, and a start warns about taken names and missing namespaces', async () => {
    const first = await start();
    await first.definitions.register({
      namespace: 'default',
      name: 'a',
      content: CONTENT,
      source: 'rest',
      by: 'key:x',
    });
    await first.namespaces.create('team-a', { description: null, limits: {} }, 'test');
    const here = await start(configured({ a: { description: 'Other.' }, 'team-a/a': CONTENT, 'team-b/a': CONTENT }));
    expect(await listed(here)).toEqual(['a 1 rest']);
    expect(await listed(here, 'team-a')).toEqual(['a 1 config']);
    expect(warnings).toEqual([
      expect.stringContaining('The definition a (source config) is not registered'),
      expect.stringContaining('there is no namespace team-b'),
    ]);
    await start();
    expect(await listed(here, 'team-a')).toEqual([]);
  });

  it('S0.7 a wrong definition of code or configuration stops the start, and the error names all problems with their keys', async () => {
    const wrong = await runtime({
      ...configured({ reviewer: { ...CONTENT, tools: ['clok'] }, 'My Agent': CONTENT, empty: null, 'A/b': CONTENT }),
      definitions: [
        { name: 'twice', ...CONTENT },
        { name: 'twice', ...CONTENT },
      ],
    });
    const error: unknown = await wrong.sources.onApplicationBootstrap().catch((reason: unknown) => reason);
    expect((error as { problems: string[] }).problems).toEqual([
      expect.stringMatching(/^the definition "twice" in code: the name is already used/),
      'agents.reviewer: tools: there is no tool "clok" (did you mean clock?)',
      expect.stringMatching(/^agents\.My Agent: The name of a definition .* my-agent/),
      expect.stringMatching(/^agents\.empty: /),
      expect.stringMatching(/^agents\.A\/b: "A" is not the name of a namespace/),
    ]);
    expect(await listed(wrong)).toEqual([]);
  });

  it('S0.7 the error of a start lists 20 problems of a definition and the number of the others', async () => {
    const tools = Array.from({ length: 25 }, (_, index) => `absent-${index}`);
    const wrong = await runtime(configured({ reviewer: { ...CONTENT, tools } }));
    const error: unknown = await wrong.sources.onApplicationBootstrap().catch((reason: unknown) => reason);
    const { problems } = error as { problems: string[] };
    expect([problems.length, problems.at(-1)]).toEqual([21, 'agents.reviewer: problems that are not listed: 5']);
  });

  it('S0.8 the agent of the setting agent is the default agent, and has the name default if it sets no name', async () => {
    const here = await start({ configured: { agent: CONTENT } });
    expect(here.definitions.defaultName('default')).toBe('default');
    expect(await listed(here)).toEqual(['default 1 config']);
    const named = await start({ configured: { agent: { name: 'helper', ...CONTENT }, agents: { other: CONTENT } } });
    expect(named.definitions.defaultName('default')).toBe('helper');
    expect(named.definitions.defaultName('team-a')).toBe('default');
    expect(await listed(named)).toEqual(['helper 1 config', 'other 1 config']);
    const twice = await runtime({ configured: { agent: { name: 'a', ...CONTENT }, agents: { a: CONTENT } } });
    await expect(twice.sources.onApplicationBootstrap()).rejects.toThrow('agent: the name is already used by agents.a');
  });

  it('S0.9 two applications in one process share no definitions', async () => {
    const other = await testDatabase();
    const there = await testRuntime(other.db, configured({ b: CONTENT }));
    await there.sources.onApplicationBootstrap();
    expect(await listed(await start(configured({ a: CONTENT })))).toEqual(['a 1 config']);
    expect(await listed(there)).toEqual(['b 1 config']);
    await other.drop();
  });
});

describe('definitions of files', () => {
  it('S4.3 a wrong file stops neither the start nor the other files, and nothing is removed while a file is rejected', async () => {
    await write('reviewer.md', FILE('one'));
    await write('two.md', FILE('two'));
    expect(await listed(await start({ files: { folder } }))).toEqual(['one 1 file', 'two 1 file']);
    await write('two.md', FILE('two', 'budget: much\n'));
    const here = await start({ files: { folder } });
    expect(await listed(here)).toEqual(['one 1 file', 'two 1 file']);
    expect(warnings).toEqual([expect.stringContaining('two.md:4: budget'), expect.stringContaining('are kept')]);
    await write('two.md', FILE('two', 'budget: much\nmaxTurns: none\n'));
    await start({ files: { folder } });
    expect(loadedFiles).toEqual({ warnings: 0, rejected: 1, skipped: 0 });
    await rm(join(folder, 'two.md'));
    expect(await listed(await start({ files: { folder } }))).toEqual(['one 1 file']);
    expect(await listed(await start({ files: { folder: join(folder, 'absent') } }))).toEqual(['one 1 file']);
  });

  it('S4.3 the warnings about a rejected file list 20 problems and the number of the others', async () => {
    const subagents = Array.from({ length: 25 }, (_, index) => `not a name ${index}`);
    await write('reviewer.md', FILE('one', `subagents: [${subagents.join(', ')}]\n`));
    await start({ files: { folder } });
    const found = warnings.filter((warning) => warning.includes('reviewer.md'));
    expect([found.length, found.at(-1)]).toEqual([21, 'reviewer.md:2: problems that are not listed: 5.']);
  });

  it('S4.3 with strict, a file with a warning is rejected', async () => {
    await write('reviewer.md', FILE('one', 'tools: Read\n'));
    expect(await listed(await start({ files: { folder, strict: true } }))).toEqual([]);
  });

  it('S4.2 watched files are registered when they change, and do not replace definitions of the configuration', async () => {
    await write('reviewer.md', FILE('one'));
    const here = await start({ files: { folder, watch: true }, ...configured({ fixed: CONTENT }) });
    await write('three.md', FILE('three'));
    await write('fixed.md', FILE('fixed'));
    await until('the new file is registered', async () => (await listed(here)).includes('three 1 file'));
    await until('the conflict is reported', () =>
      warnings.some((text) => text.includes('belongs to a definition of source config')),
    );
    await rm(join(folder, 'three.md'));
    await until('the removed file is unregistered', async () => (await listed(here)).length === 2);
    expect(await listed(here)).toEqual(['fixed 1 config', 'one 1 file']);
    expect(here.faults.all).toEqual([]);
  });
});
