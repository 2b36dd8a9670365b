import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

const OTHERS = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'TodoWrite'];
const OURS = ['read_file', 'write_file', 'edit_file', 'list_files', 'search_files', 'todo_write', 'bash'];

let root: string;
let api: TestApi;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-workspaces-'));
  // not a sandbox: attacks on a sandbox are in bash.tool.spec.ts
  api = await startApi({ ROLLCALL_WORKSPACES: root, ROLLCALL_TOOLS_BASH: 'nice -n 0' });
});
afterAll(async () => {
  await api.stop();
  rmSync(root, { recursive: true, force: true });
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
