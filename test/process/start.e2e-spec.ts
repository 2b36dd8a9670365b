import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { accountOf } from '#rollcall/providers';
import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { EmbeddedProcesses } from '../support/embedded-processes.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const PRETTY = { LOG_FORMAT: 'pretty' };
/** Only root can act as another user. */
const asRoot = process.getuid?.() === 0 ? it : it.skip;
const SEALING_KEY = 'ab'.repeat(32);

let processes: EmbeddedProcesses;
beforeAll(async () => void (processes = await EmbeddedProcesses.initialise()));
afterAll(() => processes.remove());
beforeEach(() => processes.beforeTest());
afterEach(async () => await processes.afterTest());

/** These tests share one process on a new folder. */
describe('the first start on a new machine', () => {
  let data: string;
  let first: RollcallProcess;
  let reports: string;
  const keyOf = (): string => readFileSync(join(data, 'admin.key'), 'utf8').trim();

  beforeAll(async () => {
    data = newFolder();
    reports = newFolder();
    const NODE_OPTIONS = `--report-on-signal --report-directory=${reports}`;
    const environment = { ROLLCALL_DATA_DIR: data, ROLLCALL_SEALING_KEY: SEALING_KEY, NODE_OPTIONS, ...PRETTY };
    first = await new RollcallProcess(environment).ready();
  });
  afterAll(async () => {
    await first.end();
    for (const folder of [data, reports]) rmSync(folder, { recursive: true, force: true });
  });

  it('the first start prints the URL, the docs, the key and a curl command that works', async () => {
    await until('the curl command is printed', () => first.output.includes("/v1/me'\n"));
    const file = join(data, 'admin.key');
    expect(first.output).toContain(`${first.url}/docs`);
    expect(first.output).toContain(file);
    expect(first.output).toContain(`${keyOf()}  (shown only once)`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const curl = first.output.split('\n').find((line) => line.trim().startsWith('curl ')) ?? '';
    const answer = JSON.parse(execFileSync('sh', ['-c', curl], { encoding: 'utf8' })) as unknown;
    expect(answer).toMatchObject({ name: 'admin', roles: ['admin'] });
    expect(new URL(first.url).hostname).toBe('127.0.0.1');
  });

  it('S-11 a diagnostic report contains no secret, because it was removed from the environment', async () => {
    process.kill(first.pid, 'SIGUSR2');
    const read = (): string =>
      readdirSync(reports)
        .map((name) => readFileSync(join(reports, name), 'utf8'))
        .join('');
    await until('the report is complete', () => read().trimEnd().endsWith('}'));
    const { environmentVariables } = JSON.parse(read()) as { environmentVariables: Record<string, string> };
    expect(Object.keys(environmentVariables)).toContain('PATH');
    expect(read()).not.toContain(SEALING_KEY);
  });

  asRoot('S-11 another user can read neither the environment, nor the key, nor the data of the process', () => {
    const paths = [`/proc/${first.pid}/environ`, join(data, 'admin.key')];
    const account = accountOf('nobody');
    for (const path of paths)
      expect(() => execFileSync('cat', [path], { ...account, cwd: '/', stdio: 'pipe' })).toThrow('Permission denied');
    expect(() => execFileSync('ls', [data], { ...account, cwd: '/', stdio: 'pipe' })).toThrow('Permission denied');
  });

  it('one start is sufficient for the tour of the registry', () => {
    const output = execFileSync('sh', [resolve(import.meta.dirname, '../../examples/tour.sh')], {
      encoding: 'utf8',
      env: { ...process.env, ROLLCALL_URL: first.url, KEY_FILE: join(data, 'admin.key') },
    });
    const issued = output
      .split('\n')
      .filter((line) => line.includes('"name":"dashboard"') && line.includes('"key":"rk_'));
    expect(new Set(issued).size).toBe(1);
    expect(issued).toHaveLength(2);
    expect(output).toContain(
      '"rank":1,"score":0,"marks":[],"reasons":["subscription, $0/task","376k tokens remaining"]',
    );
    expect(output).toContain('"code":"quarantined","text":"an operator has quarantined it"');
    expect(output).toContain('"type":"dev.rollcall.agent.quarantined","subject":"builder-01"');
    expect(output).toContain('"code":"VALIDATION_FAILED"');
    expect(output).toContain('"action":"key.issued"');
  });

  it('the terminal shows one line for all migrations, agents that join and leave, and a summary of rejected requests (N5)', async () => {
    await call(first.url, 'POST', '/v1/agents/builder-01/evict', { key: keyOf() });
    await call(first.url, 'GET', '/v1/agents/nobody', { key: keyOf() });
    await call(first.url, 'GET', '/nowhere', { key: keyOf() });
    const shown = [
      'agent.joined builder-01',
      'agent.left builder-01 (evicted)',
      '404 GET /v1/agents/nobody',
      '404 GET /nowhere',
    ];
    await until('the lines are shown', () => shown.every((text) => first.output.includes(text)));
    const beforeReady = first.output.slice(0, first.output.indexOf('is ready.')).trim().split('\n');
    expect(beforeReady.filter((line) => line.includes('database.migrated'))).toHaveLength(1);
    expect(beforeReady.length).toBeLessThan(6);
  });

  it('later starts have its data, print no key, and print a curl command with a valid key or report that the key is not stored', async () => {
    const key = keyOf();
    const me = await call<{ id: string }>(first.url, 'GET', '/v1/me', { key });
    const other = { name: 'other', roles: ['admin'], namespace: '*' };
    const issued = await call(first.url, 'POST', '/v1/keys', { key, body: other });
    await call(first.url, 'DELETE', `/v1/keys/${me.body.id.slice(4)}`, { key });
    expect(await first.end()).toBe(0);
    const second = await processes.start({ ...PRETTY, ROLLCALL_DATA_DIR: data }).ready();
    await until('the curl command is printed', () => second.output.includes('/v1/me'));
    expect(second.output).not.toContain('shown only once');
    expect(second.output).toContain('not stored here');
    const { id, key: otherKey } = issued.body as { id: string; key: string };
    const kept = await call(second.url, 'GET', `/v1/keys/${id}`, { key: otherKey });
    expect(kept).toMatchObject({ status: 200, body: { name: 'other' } });
    await second.end();
    const settings = { ...PRETTY, ROLLCALL_DATA_DIR: data, ROLLCALL_ADMIN_KEY: 'n'.repeat(40) };
    const third = await processes.start(settings).ready();
    await until('the curl command is printed again', () => third.output.includes('/v1/me'));
    const curl = third.output.split('\n').find((line) => line.trim().startsWith('curl ')) ?? '';
    expect(execFileSync('sh', ['-c', curl], { encoding: 'utf8' })).toContain('"roles":["admin"]');
  });
});

describe('definitions at the start', () => {
  it('S4.2 S0.7 agents in .claude/agents are listed, spawned and run; an invalid agent in the configuration ends the process', async () => {
    processes.copyInitialised();
    const names = Array.from({ length: 10 }, (_, index) => `agent-${index}`);
    const spec = (name: string): string => `---\nname: ${name}\ndescription: Answers.\nmodel: opus\n---\nAnswer.\n`;
    const files = Object.fromEntries(names.map((name) => [`.claude/agents/${name}.md`, spec(name)]));
    const first = await processes
      .start({}, { files: { ...files, '.claude/agents/wrong.md': '---\nname: [\n---\n' } })
      .ready();
    const key = readFileSync(join(processes.folder, 'admin.key'), 'utf8').trim();
    const { body } = await call<{ items: { name: string }[] }>(first.url, 'GET', '/v1/definitions', { key });
    expect(body.items.map(({ name }) => name)).toEqual(names);
    expect(await call(first.url, 'GET', '/v1/definitions/agent-0/effective', { key })).toMatchObject({
      body: { model: { rule: 'built-in-alias' } },
    });
    const spawned = await call(first.url, 'POST', '/v1/runtime/agents', { key, body: { definition: 'agent-0' } });
    expect(spawned).toMatchObject({ status: 201, body: { name: 'agent-0', state: 'idle' } });
    const asked = await call(first.url, 'POST', '/v1/runs', { key, body: { definition: 'agent-1', input: 'Hello.' } });
    const run = await call(first.url, 'GET', `/v1/runs/${String(asked.body['id'])}?waitMs=30000`, { key });
    expect(run.body).toMatchObject({ state: 'completed', result: { parts: [{ text: 'You said: Hello.' }] } });
    expect(first.output).toContain('"event":"definitions.file_rejected"');
    expect(first.output).toContain('"event":"definitions.loaded"');
    await first.end();
    const wrong = processes.start({ ROLLCALL_AGENTS: '{"reviewer":{"description":"Reviews.","tools":["clok"]}}' });
    expect(await wrong.exit()).toBe(1);
    expect(wrong.output).toContain('agents.reviewer: tools: there is no tool "clok" (did you mean clock?)');
  });
});

describe('JSON logs', () => {
  it('A21 JSON logs contain only JSON and not the first admin key', () => {
    const { code, output } = processes.firstStart;
    expect(code).toBe(0);
    const key = readFileSync(join(processes.initialised, 'admin.key'), 'utf8').trim();
    expect(output).not.toContain(key);
    for (const line of output.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});

describe('a start on an existing database', () => {
  it('a start needs no folder for temporary files, and loads no packages that are not configured or that only a later request needs', async () => {
    const TMPDIR = join(processes.folder, 'missing');
    const file = join(processes.folder, 'loaded-packages');
    const preload = resolve(import.meta.dirname, '../support/loaded-packages.js');
    const started = await processes
      .startAgain({ TMPDIR, NODE_OPTIONS: `--import=${preload}`, LOADED_PACKAGES: file })
      .ready();
    expect(await started.end()).toBe(0);
    const loaded = readFileSync(file, 'utf8').split('\n');
    expect(loaded).toContain('@nestjs/core');
    const later =
      /^(typeorm|undici|@langfuse\/|@ai-sdk\/(anthropic|openai|google|amazon-bedrock)|@modelcontextprotocol\/|@nats-io\/|@opentelemetry\/sdk)/;
    expect(loaded.filter((name) => later.test(name))).toEqual([]);
  });
});
