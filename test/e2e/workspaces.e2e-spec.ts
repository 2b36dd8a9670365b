import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { array, constantFrom, sample, tuple } from 'fast-check';
import { definitions } from '#rollcall/agent-runtime';
import { type ModelRequest, VendorRegistry } from '#rollcall/providers';
import { callTools, say, ScriptedModel } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

const OTHERS = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'TodoWrite'];
const OURS = ['read_file', 'write_file', 'edit_file', 'list_files', 'search_files', 'todo_write', 'bash'];
const FIXTURES = resolve(import.meta.dirname, '../fixtures');
const SECRET = 'the secret outside';
const MODELS = {
  default: 'demo',
  presets: {
    demo: { vendor: 'scripted', model: 'demo' },
    anthropic: {
      vendor: 'scripted',
      model: 'demo',
      capabilities: ['chat', 'tools', 'not valid!'],
      usdPerMillionTokens: { input: 3, output: 15 },
    },
  },
};

let base: string;
let root: string;
let api: TestApi;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'rollcall-workspaces-'));
  root = join(base, 'inside');
  mkdirSync(root);
  writeFileSync(join(base, 'secret.txt'), SECRET);
  api = await startApi({
    ROLLCALL_WORKSPACES: root,
    ROLLCALL_TOOLS_BASH: 'nice -n 0', // not a sandbox: attacks on a sandbox are in hostile-commands.e2e-spec.ts
    ROLLCALL_SKILLS_DIR: join(FIXTURES, 'source/skills'),
    ROLLCALL_MODELS: JSON.stringify(MODELS),
  });
});
afterAll(async () => {
  await api.stop();
  rmSync(base, { recursive: true, force: true });
});

async function define(name: string, content: object): Promise<Answer> {
  const body = { name, content: { description: 'Writes code.', instructions: 'Write.', ...content } };
  return await api.call('POST', '/v1/definitions', { body });
}

/** Starts a run that makes these calls, and returns it when it has ended. */
async function run(definition: string, ...calls: [string, object][]): Promise<Record<string, unknown>> {
  const input = calls.map(([tool, given]) => `Call ${tool} ${JSON.stringify(given)}`).join('\n');
  return (await api.call('POST', '/v1/runs?waitMs=30000', { body: { definition, input } })).body;
}

describe('an agent with a workspace', () => {
  it('S4.10 tools of other systems are accepted by their names, and /effective shows what they mean', async () => {
    expect(await define('coder', { tools: OTHERS })).toMatchObject({
      status: 201,
      body: { content: { tools: OTHERS } },
    });
    const { body } = await api.call('GET', '/v1/definitions/coder/effective');
    const tools = body['tools'] as { name: string; origin: string; aliases?: string[] }[];
    expect(tools.map(({ name }) => name).toSorted()).toEqual(OURS.toSorted());
    expect(tools).toContainEqual({ name: 'read_file', origin: 'workspace', aliases: ['Read'] });
  });

  it('S4.10 writes, edits, searches and executes, and its files are on the disk of the replica', async () => {
    const done = await run(
      'coder',
      ['write_file', { path: 'src/sum.js', content: 'export const sum = (a, b) => a - b;\n' }],
      ['search_files', { pattern: 'a - b' }],
      ['edit_file', { path: 'src/sum.js', oldText: 'a - b', newText: 'a + b' }],
      ['bash', { command: 'cat src/sum.js' }],
    );
    expect(done).toMatchObject({ state: 'completed' });
    const text = JSON.stringify(done['result']);
    expect(text).toContain('src/sum.js:1: export const sum = (a, b) => a - b;');
    expect(text).toContain('export const sum = (a, b) => a + b;\\n[Exit code: 0]');
    expect(readFileSync(join(root, 'default', String(done['id']), 'src/sum.js'), 'utf8')).toContain('a + b');
  });

  it('S4.10 an error of a tool reaches the model and not the caller: the run continues', async () => {
    const done = await run('coder', ['read_file', { path: '../secret' }], ['list_files', {}]);
    expect(done).toMatchObject({ state: 'completed' });
    expect(JSON.stringify(done['result'])).toContain('leads outside the workspace');
  });

  it('S4.10 S4.2 a spec file for Claude Code keeps its tools', async () => {
    const content = `---\nname: reviewer\ndescription: Reviews.\ntools: ${OTHERS.join(', ')}\n---\nReview.`;
    const { body } = await api.call('POST', '/v1/definition-imports', { body: { files: [{ path: 'r.md', content }] } });
    expect(body).toMatchObject({
      loaded: 1,
      warned: 0,
      files: [{ definitions: [{ name: 'reviewer' }], warnings: [] }],
    });
    const done = await run('reviewer', ['write_file', { path: 'a', content: 'b' }]);
    expect(JSON.stringify(done['result'])).toContain('a was created');
  });
});

/** Imports spec files, and returns the report. */
async function imported(...files: { path: string; content: string }[]): Promise<Record<string, unknown>> {
  return (await api.call('POST', '/v1/definition-imports', { body: { files } })).body;
}

const read = (path: string): string => readFileSync(join(FIXTURES, path), 'utf8');
const SUM = 'export const sum = (a, b) => a - b;\n';

describe('the files of a run', () => {
  it('S4.10 are put into its workspace before it begins, and can be read when it has ended', async () => {
    await define('filer', { tools: ['Read', 'Write', 'Edit'] });
    const files = [
      { path: 'src/sum.js', content: SUM, mediaType: 'text/javascript' },
      { path: 'logo.png', content: 'iVBORw0KGgo=', encoding: 'base64' },
    ];
    const input = 'Call edit_file {"path": "src/sum.js", "oldText": "a - b", "newText": "a + b"}';
    const body = { definition: 'filer', input, files };
    const done = (await api.call('POST', '/v1/runs?waitMs=30000', { body })).body;
    expect(done).toMatchObject({ state: 'completed' });
    const path = `/v1/runs/${String(done['id'])}/files`;
    const items = [
      { path: 'logo.png', bytes: 8 },
      { path: 'src/sum.js', bytes: 36 },
    ];
    expect((await api.call('GET', path)).body).toEqual({ items, nextCursor: null });
    const content = async (name: string): Promise<Answer> =>
      await api.call('GET', `${path}/content?path=${encodeURIComponent(name)}`);
    expect((await content('src/sum.js')).body).toMatchObject({ encoding: 'utf8', content: SUM.replace('-', '+') });
    expect((await content('logo.png')).body).toMatchObject({ encoding: 'base64', content: 'iVBORw0KGgo=' });
    expect(await content('absent')).toMatchObject({ status: 404, body: { code: 'RUN_FILE_NOT_FOUND' } });
    expect(await content('../secret.txt')).toMatchObject({ status: 400, body: { code: 'WORKSPACE_REJECTED' } });
    const headers = { 'a2a-version': '1.0' };
    const { body: task } = await api.call('GET', `/a2a/tasks/${String(done['id'])}`, { headers });
    expect(task['artifacts']).toMatchObject([{ name: 'result' }, { name: 'logo.png' }, { name: 'src/sum.js' }]);
    const { body: steps } = await api.call('GET', `/v1/runs/${String(done['id'])}/steps`);
    expect(JSON.stringify(steps)).toContain('"path":"src/sum.js"');
  });

  it.each(['../x', '/etc/passwd', 'a\nb', 'a/'.repeat(32) + 'b'])(
    'S4.10 the path %j is rejected before the run starts',
    async (path) => {
      const body = { definition: 'filer', input: 'x', files: [{ path, content: 'y' }] };
      const rejected = { status: 400, body: { code: 'WORKSPACE_REJECTED' } };
      expect(await api.call('POST', '/v1/runs', { body })).toMatchObject(rejected);
    },
  );

  it('S4.10 are added by a message that continues the run', async () => {
    await define('asker', { tools: ['Read'], mayAsk: true });
    const asked = await run('asker', ['ask_caller', { question: 'Which file?' }]);
    expect(asked).toMatchObject({ state: 'waiting', waitingFor: 'input' });
    const path = `/v1/runs/${String(asked['id'])}`;
    const body = { input: 'Call read_file {"path": "new.txt"}', files: [{ path: 'new.txt', content: 'later' }] };
    expect((await api.call('POST', `${path}/messages`, { body })).status).toBeLessThan(300);
    const { body: done } = await api.call('GET', `${path}?waitMs=30000`);
    expect(done).toMatchObject({ state: 'completed', result: { parts: [{ text: '1\tlater' }] } });
  });

  it('S4.10 B8 belong to those who see the run', async () => {
    const done = await run('filer', ['read_file', { path: 'a' }]);
    const key = await api.given.key('caller');
    expect(await api.call('GET', `/v1/runs/${String(done['id'])}/files`, { key })).toMatchObject({
      status: 404,
      body: { code: 'RUN_NOT_FOUND' },
    });
  });
});

describe('a workspace in which a program has made too many files', () => {
  it('S4.10 its result is readable, and its files are listed in pages as far as a workspace may have files', async () => {
    await define('flooder', { tools: ['Write', 'Bash'] });
    const command = `touch 'two\nlines' $'\\xff' ${'deep/'.repeat(40)} f{1..21000}; mkfifo pipe; ln -s /etc link; mkdir many .git; touch many/{1..10} .git/{1..100}; echo made`;
    const done = await run('flooder', ['bash', { command }], ['write_file', { path: 'f1', content: 'x' }]);
    expect(done).toMatchObject({ state: 'completed' });
    expect(JSON.stringify(done['result'])).toMatch(/made.*f1 was replaced/);
    const path = `/v1/runs/${String(done['id'])}/files`;
    const { body: page } = await api.call('GET', `${path}?limit=100`);
    const paths = (page['items'] as { path: string }[]).map((file) => file.path);
    expect([paths.length, paths.every((one) => /^(f|many\/)\d+$/.test(one))]).toEqual([100, true]);
    const { body: next } = await api.call('GET', `${path}?limit=1&cursor=${String(page['nextCursor'])}`);
    expect((next['items'] as { path: string }[])[0].path > paths[99]).toBe(true);
    expect(await api.call('GET', `${path}?cursor=x`)).toMatchObject({ status: 400, body: { code: 'CURSOR_INVALID' } });
    const headers = { 'a2a-version': '1.0' };
    const { body: task } = await api.call('GET', `/a2a/tasks/${String(done['id'])}`, { headers });
    expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' }, artifacts: { length: 51 } });
  });
});

describe('the files of a conversation', () => {
  const send = async (on: TestApi, more: object, ...calls: [string, object][]): Promise<Record<string, unknown>> => {
    const input = calls.map(([tool, given]) => `Call ${tool} ${JSON.stringify(given)}`).join('\n');
    return (
      await on.call('POST', '/v1/runs?waitMs=30000', {
        key: api.adminKey,
        body: { definition: 'talker', input, ...more },
      })
    ).body;
  };
  const filesOf = async ({ id }: Record<string, unknown>): Promise<unknown> =>
    (await api.call('GET', `/v1/runs/${String(id)}/files`)).body['items'];

  it('S2.10 S4.10 are those of its earlier runs, on all replicas with the same folder', async () => {
    await define('talker', { tools: ['Read', 'Write', 'Edit'] });
    const other = await api.replica();
    const files = [{ path: 'a.txt', content: 'one' }];
    const first = await send(api, { conversationId: 'chat', files }, ['read_file', { path: 'a.txt' }]);
    expect(first).toMatchObject({ state: 'completed' });
    const edit = { path: 'a.txt', oldText: 'one', newText: 'two' };
    const second = await send(other, { conversationId: 'chat' }, ['edit_file', edit], ['read_file', { path: 'a.txt' }]);
    expect(JSON.stringify(second['result'])).toContain('1\\ttwo');
    for (const one of [first, second]) expect(await filesOf(one)).toEqual([{ path: 'a.txt', bytes: 3 }]);
    const alone = await send(other, { conversationId: 'another' }, ['read_file', { path: 'a.txt' }]);
    expect(JSON.stringify(alone['result'])).not.toContain('two');
    await other.stop();
  });

  it('S2.10 S4.10 include those of a run that becomes its first one', async () => {
    const first = await send(api, {}, ['write_file', { path: 'b.txt', content: 'begun' }]);
    const second = await send(api, { conversationId: first['id'] }, ['read_file', { path: 'b.txt' }]);
    expect(JSON.stringify(second['result'])).toContain('1\\tbegun');
  });
});

describe('a workspace that is not on a shared volume', () => {
  it('S4.10 its run waits for the replica that has it, and fails with WORKSPACE_MISSING when that replica does not come', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'rollcall-workspaces-'));
    const other = await api.replica({ ROLLCALL_WORKSPACES: elsewhere });
    const input = 'Call write_file {"path": "a.txt", "content": "one"}';
    const body = { definition: 'filer', conversationId: 'gone', input };
    const first = await other.call('POST', '/v1/runs?waitMs=30000', { key: api.adminKey, body });
    expect(first.body).toMatchObject({ state: 'completed' });
    await other.stop();
    const { id } = (await api.call('POST', '/v1/runs', { body })).body;
    const { db } = api.database;
    await until('the run waits for the other replica', async () => {
      const [row] = await db.query('SELECT 1 FROM workspace WHERE awaited_by = $1', [id]);
      return row !== undefined;
    });
    expect((await api.call('GET', `/v1/runs/${String(id)}`)).body).not.toMatchObject({ state: 'failed' });
    await db.query(`UPDATE workspace SET awaited_since = awaited_since - interval '1 hour' WHERE awaited_by = $1`, [
      id,
    ]);
    await db.query(`UPDATE run SET queued_at = queued_at - interval '1 hour' WHERE id = $1`, [id]);
    const ended = await api.call('GET', `/v1/runs/${String(id)}?waitMs=50000`);
    expect(ended.body).toMatchObject({ state: 'failed', result: { error: { code: 'WORKSPACE_MISSING' } } });
    rmSync(elsewhere, { recursive: true });
  }, 90_000);

  it('S4.10 its run continues on the replica that has it, and fails with WORKSPACE_MISSING when it is lost', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'rollcall-workspaces-'));
    const other = await api.replica({ ROLLCALL_WORKSPACES: elsewhere });
    const call = async (on: TestApi, tool: string, given: object): Promise<Record<string, unknown>> => {
      const body = { definition: 'filer', conversationId: 'apart', input: `Call ${tool} ${JSON.stringify(given)}` };
      return (await on.call('POST', '/v1/runs?waitMs=30000', { key: api.adminKey, body })).body;
    };
    const first = await call(api, 'write_file', { path: 'a.txt', content: 'one' });
    expect(first).toMatchObject({ state: 'completed' });
    const second = await call(other, 'read_file', { path: 'a.txt' });
    expect(second).toMatchObject({ state: 'completed', attempts: 2 });
    expect(JSON.stringify(second['result'])).toContain('1\\tone');
    const missing = { code: 'WORKSPACE_MISSING' };
    const answer = await other.call('GET', `/v1/runs/${String(second['id'])}/files`, { key: api.adminKey });
    expect(answer).toMatchObject({ status: 503, body: missing });
    for (const name of readdirSync(join(root, 'default'))) rmSync(join(root, 'default', name), { recursive: true });
    const third = await call(api, 'read_file', { path: 'a.txt' });
    expect(third).toMatchObject({ state: 'failed', result: { error: missing } });
    await other.stop();
    rmSync(elsewhere, { recursive: true });
  });
});

describe('agents that were written for other systems', () => {
  it('S4.2 M-9 the code-reviewer of the source document, verbatim, reviews a file of a workspace', async () => {
    const report = await imported({ path: 'code-reviewer.md', content: read('source/code-reviewer.md') });
    expect(report).toMatchObject({ loaded: 1, warned: 0, rejected: 0 });
    const { body: effective } = await api.call('GET', '/v1/definitions/code-reviewer/effective');
    expect(effective).toMatchObject({
      model: { preset: 'anthropic' },
      tools: [{ name: 'read_file' }, { name: 'search_files' }],
      skills: [{ name: 'php-standards', mode: 'preload' }],
    });
    const files = [{ path: 'login.php', content: '<?php\n$db->query("SELECT * FROM user WHERE id = $_GET[id]");\n' }];
    const input = 'Call search_files {"pattern": "_GET"}\nCall read_file {"path": "login.php"}';
    const body = { definition: 'code-reviewer', input, files };
    const done = (await api.call('POST', '/v1/runs?waitMs=30000', { body })).body;
    expect(done).toMatchObject({ state: 'completed' });
    expect(JSON.stringify(done['result'])).toContain('login.php:2: $db->query(');
  });

  /** An input with which each tool succeeds in an empty workspace, or with a file `a`. */
  const INPUTS: Readonly<Record<string, object>> = {
    read_file: { path: 'a' },
    write_file: { path: 'b', content: 'x' },
    edit_file: { path: 'a', oldText: 'x', newText: 'y' },
    list_files: {},
    search_files: { pattern: 'x' },
    todo_write: { todos: [] },
    bash: { command: 'cat a' },
  };

  /** Lets the agent call each of its tools for workspaces. */
  async function hasWorkingTool(definition: string): Promise<boolean> {
    const { body: effective } = await api.call('GET', `/v1/definitions/${definition}/effective`);
    const tools = (effective['tools'] as { name: string }[]).filter(({ name }) => name in INPUTS);
    const input = tools.map(({ name }) => `Call ${name} ${JSON.stringify(INPUTS[name])}`).join('\n');
    const body = { definition, input, files: [{ path: 'a', content: 'x' }] };
    const done = (await api.call('POST', '/v1/runs?waitMs=30000', { body })).body;
    const { body: page } = await api.call('GET', `/v1/runs/${String(done['id'])}/steps?limit=200`);
    const steps = (page['items'] as { step: { type: string; failed?: boolean } }[]).map(({ step }) => step);
    const finished = steps.filter(({ type }) => type === 'tool-finished');
    return tools.length > 0 && finished.length === tools.length && finished.every(({ failed }) => !failed);
  }

  it('S4.3 M-9 every one of 30 files in the style of public collections has a tool that works', async () => {
    const paths = readdirSync(join(FIXTURES, 'collections'), { recursive: true, encoding: 'utf8' });
    const files = paths
      .filter((path) => path.endsWith('.md'))
      .map((path) => ({ path, content: read(join('collections', path)) }));
    const report = await imported(...files);
    expect(report).toMatchObject({ loaded: 30, rejected: 0, skipped: 1 });
    const collected = files.filter(({ path }) => !path.endsWith('README.md'));
    const names = collected.map(({ path }) => path.split('/').at(-1)!.replace('.md', ''));
    const works = await Promise.all(names.map(async (name) => ({ name, works: await hasWorkingTool(name) })));
    expect(works).toEqual(names.map((name) => ({ name, works: true })));
  });

  it('S0.10 M-6 a definition has the capabilities and the price of its preset, unless it states a price', async () => {
    const content = { model: 'anthropic', capabilities: ['review', 'not valid!'], tools: [] };
    await define('capable', content);
    const { body } = await api.call('GET', '/v1/definitions/capable/capabilities');
    expect(body).toEqual({ capabilities: ['chat', 'review', 'tools'] });
    await api.call('POST', '/v1/runtime/agents', { body: { definition: 'capable' } });
    expect((await api.call('GET', '/v1/agents/capable')).body).toMatchObject({
      capabilities: ['chat', 'review', 'tools'],
      costModel: { usdPerTask: null, usdPer1kTokens: 0.006 },
    });
    const costModel = { usdPerTask: 0.5, usdPer1kTokens: null };
    const stated = { description: 'x', instructions: 'x', ...content, costModel };
    await api.call('POST', '/v1/runtime/agents', { body: { name: 'priced', content: stated } });
    expect((await api.call('GET', '/v1/agents/priced')).body).toMatchObject({ costModel });
    const query = { capabilities: ['tools'], prefer: 'cheapest', consistency: 'strong' };
    const ranked = (await api.call('POST', '/v1/agents/query', { body: query })).body;
    const candidates = ranked['candidates'] as { agent: { agentId: string } }[];
    expect(candidates.map(({ agent }) => agent.agentId)).toEqual(['capable', 'priced']);
  });
});

describe('the coding agent', () => {
  const FOLDER = resolve(FIXTURES, '../../examples/agents/coding');
  const file = (name: string): { path: string; content: string } => ({
    path: `${name}.md`,
    content: readFileSync(join(FOLDER, `${name}.md`), 'utf8'),
  });

  it('S4.11 the files and the definitions in code are the same agents', async () => {
    const report = await imported(file('coder'), file('reviewer'), file('tester'));
    expect(report).toMatchObject({ loaded: 3, warned: 0 });
    const ready = [
      definitions.codingAgent({ commands: true }),
      definitions.reviewer(),
      definitions.tester({ commands: true }),
    ];
    for (const { name, tools, ...content } of ready) {
      const { body } = await api.call('GET', `/v1/definitions/${name}`);
      expect({ name, content: body['content'] }).toMatchObject({ name, content });
      const effective = (await api.call('GET', `/v1/definitions/${name}/effective`)).body;
      const names = (effective['tools'] as { name: string }[]).map((tool) => tool.name);
      expect(names.toSorted()).toEqual([...(tools ?? [])].toSorted());
    }
  });

  it('S4.11 changes a small repository, and has the change reviewed in the same workspace', async () => {
    const review = 'Call read_file {"path": "src/sum.js"}';
    const calls: [string, object][] = [
      ['todo_write', { todos: [{ text: 'Correct sum', state: 'in_progress' }] }],
      ['edit_file', { path: 'src/sum.js', oldText: 'a - b', newText: 'a + b' }],
      ['spawn_subagent', { subagent: 'reviewer', prompt: review }],
    ];
    const input = calls.map(([tool, given]) => `Call ${tool} ${JSON.stringify(given)}`).join('\n');
    const body = { definition: 'coder', input, files: [{ path: 'src/sum.js', content: SUM }] };
    const done = (await api.call('POST', '/v1/runs?waitMs=30000', { body })).body;
    expect(done).toMatchObject({ state: 'completed' });
    expect(JSON.stringify(done['result'])).toContain('export const sum = (a, b) => a + b;');
  });
});

describe('a hostile model', () => {
  const PIECES = [
    '..',
    '.',
    '...',
    '',
    'link',
    'secret.txt',
    'etc',
    'passwd',
    'proc',
    'self',
    'environ',
    'root',
    'a',
    '~',
  ];
  const SEPARATORS = ['/', '//', '/./', '\\', '%2f', '\u2215', '/..;/', '\0', '\n', '\u202e'];
  const PATH = tuple(
    constantFrom('', '/', '../', './', 'link/', 'file:///', 'C:\\', '%2e%2e/'),
    array(tuple(constantFrom(...PIECES), constantFrom(...SEPARATORS)), { minLength: 1, maxLength: 6 }),
    constantFrom('secret.txt', 'passwd', 'x', ''),
  ).map(([start, middle, end]) => start + middle.flat().join('') + end);

  it('S4.10 reaches nothing outside its workspace with 200 generated paths', async () => {
    const paths = sample(PATH, { seed: 32, numRuns: 200 });
    const TOOLS: ((path: string) => [string, object])[] = [
      (path) => ['read_file', { path }],
      (path) => ['write_file', { path, content: 'owned' }],
      (path) => ['edit_file', { path, oldText: 'secret', newText: 'owned' }],
      (path) => ['list_files', { pattern: path }],
      (path) => ['search_files', { pattern: 'secret|root:', files: path }],
    ];
    const attacks = paths.map((path, index): [string, object, string] => {
      const [tool, input] = TOOLS[index % TOOLS.length](path);
      return [tool, input, `attack-${index}`];
    });
    const seen: string[] = [];
    const open = (): ScriptedModel =>
      new ScriptedModel((request: ModelRequest, call) => {
        seen.push(JSON.stringify(request.messages.at(-1)));
        if (call === 1) return callTools(['bash', { command: `ln -s ${base} link; ln -s /etc/passwd passwd` }]);
        const some = attacks.splice(0, 20);
        return some.length > 0 ? callTools(...some) : say('Done.');
      });
    api.app.nest.get(VendorRegistry).register({ name: 'hostile', needsKey: false, open });
    await define('hostile', { tools: OTHERS, model: { vendor: 'hostile', model: 'x' } });
    const done = (await api.call('POST', '/v1/runs?waitMs=30000', { body: { definition: 'hostile', input: 'Go.' } }))
      .body;
    expect(done).toMatchObject({ state: 'completed' });
    expect(seen.length).toBe(12);
    expect(seen.join('\n')).not.toMatch(/the secret outside|root:x:/);
    expect(seen.slice(2).join('\n')).not.toContain(base);
    expect(readFileSync(join(base, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(readdirSync(base).toSorted()).toEqual(['inside', 'secret.txt']);
    expect(readdirSync(root)).toEqual(['default']);
  });
});

describe('without workspaces', () => {
  it('N-8 S4.10 a definition that needs them is rejected with what turns them on', async () => {
    const plain = await startApi();
    try {
      const body = { name: 'coder', content: { description: 'x', instructions: 'x', tools: ['Read', 'Bash', 'Raed'] } };
      const answer = await plain.call('POST', '/v1/definitions', { body });
      expect(answer).toMatchObject({ status: 400, body: { code: 'DEFINITION_INVALID' } });
      const text = JSON.stringify(answer.body);
      expect(text).toContain('the tool \\"Read\\" is off; set ROLLCALL_WORKSPACES to a folder');
      expect(text).toContain('the tool \\"Bash\\" is off; set ROLLCALL_WORKSPACES to a folder and ROLLCALL_TOOLS_BASH');
      expect(text).toContain('there is no tool \\"Raed\\"');
    } finally {
      await plain.stop();
    }
  });
});
