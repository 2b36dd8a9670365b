import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { AgentClient } from '../support/agent-client.js';
import { type Answer, call } from '../support/call.js';
import { apiPages, missingComments } from '../../bin/api-docs.js';
import type { PluginPart } from '../../apps/api/src/plugins/plugin.js';
import { Given, type GivenAgent } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const ROOT = resolve(import.meta.dirname, '../..');
const KEY = 'k'.repeat(40);
const FIVE_MINUTES = 300_000;
const PLUGINS = [
  { use: 'rollcall-plugin-example', config: { language: 'fr', events: 'events.jsonl' } },
  { use: './acme.js', config: { city: 'Oslo', agents: './agents' } },
  './weather.mjs',
];

/** The compiler rejects a comment of this kind if the next line has no error. */
const WRONG = `import { createRollcall } from 'rollcall/embed';
import { definePlugin, defineTool, z } from 'rollcall/plugin';
import { startRollcall } from 'rollcall/testing';
// @ts-expect-error a part that does not exist
definePlugin({ name: 'wrong', outputGuards: [] });
// @ts-expect-error a value that does not exist
definePlugin({ name: 'wrong', strategies: [{ name: 's', scoreMeaning: '', best: 'largest', score: () => 1 }] });
// @ts-expect-error the input of a tool has the type of its schema
defineTool({ name: 't', description: 'T.', input: z.object({ city: z.string() }), execute: ({ town }) => town });
// @ts-expect-error the configuration has the type of its schema
definePlugin({ name: 'wrong', config: z.object({ a: z.string() }), setup: ({ config }) => ({ skills: [config.b] }) });
// @ts-expect-error an option that does not exist
void createRollcall({ port: 80 });
// @ts-expect-error an option that does not exist
void startRollcall({ setting: {} });
// @ts-expect-error a package has no other entry points
import { createApp } from 'rollcall/dist/apps/api/src/app.js';
`;

const STRICT = {
  module: 'nodenext',
  target: 'ES2023',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  types: ['node'],
};

/** A definition in a file, which the plugin loads. */
const SCRIBE = `---
name: scribe
description: Repeats what it reads.
tools: []
model: { vendor: parrot, model: p1 }
---

You repeat.
`;

/** A folder that contains only the packed package with its dependencies, and the projects of users. */
let folder: string;
let tarball: string;
let url = '';
let one: RollcallProcess;
let two: RollcallProcess;

const run = promisify(execFile);
/** The oldest and the newest version of TypeScript that plugins may use, each with the projects that it compiles. */
const COMPILERS = {
  // `overrides` of package.json; one project with the files of all, because a second compilation of the same files takes time
  '5.9': { path: 'node_modules/@arethetypeswrong/core/node_modules/typescript', projects: ['all'] },
  '6.0': { path: 'node_modules/typescript', projects: ['plugin', 'embedded', 'acme'] },
};
/** The errors of the compiler; empty if there are none. */
const compile = async (project: string, version: keyof typeof COMPILERS): Promise<string> => {
  const tsc = [join(ROOT, COMPILERS[version].path, 'bin/tsc'), '-p', join(folder, project), '--pretty', 'false'];
  return await run(process.execPath, tsc).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stdout: string }).stdout,
  );
};
const send = async (at: RollcallProcess, method: string, path: string, body?: unknown): Promise<Answer> =>
  await call(at.url, method, path, { key: KEY, ...(body !== undefined && { body }) });

beforeAll(async () => {
  folder = newFolder();
  install();
  url = await emptyDatabase();
}, FIVE_MINUTES);
afterAll(async () => {
  await Promise.all([one?.end(), two?.end()]);
  rmSync(folder, { recursive: true, force: true });
  if (url) await dropDatabase(url);
});

/** Unpacks the package into `node_modules`, and links the packages that its manifest names as dependencies. */
function install(): void {
  execFileSync(process.execPath, ['bin/declarations.js'], { cwd: ROOT, stdio: 'pipe' });
  const flags = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(execFileSync('npm', flags, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' })) as [
    { filename: string },
  ];
  tarball = join(folder, filename);
  const installed = join(folder, 'node_modules/rollcall');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: object;
  };
  for (const name of [...Object.keys(dependencies), '@types/node']) link(name);
  for (const name of ['plugin', 'embedded'])
    cpSync(join(ROOT, 'examples', name), join(folder, name), { recursive: true });
  cpSync(join(ROOT, 'examples/weather.mjs'), join(folder, 'weather.mjs'));
  mkdirSync(join(folder, 'acme'));
  const acme = readFileSync(join(ROOT, 'test/support/acme.plugin.ts'), 'utf8');
  writeFileSync(
    join(folder, 'acme/acme.ts'),
    `${acme.replace('../../apps/api/src/package/plugin.js', 'rollcall/plugin')}\nexport default acmePlugin();\n`,
  );
  writeFileSync(join(folder, 'acme/wrong.ts'), WRONG);
  writeFileSync(
    join(folder, 'acme/tsconfig.json'),
    readFileSync(join(folder, 'embedded/tsconfig.json'), 'utf8')
      .replace('"*.ts"', '"acme.ts", "wrong.ts"], "exclude": [')
      .replace('"dist"', '".."'),
  );
  mkdirSync(join(folder, 'all'));
  const all = ['plugin', 'embedded', 'acme'].map((name) => `../${name}/*.ts`);
  const strict = { ...STRICT, noEmit: true };
  writeFileSync(join(folder, 'all/tsconfig.json'), JSON.stringify({ compilerOptions: strict, include: all }));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  mkdirSync(join(folder, 'agents/.claude/agents'), { recursive: true });
  writeFileSync(join(folder, 'agents/.claude/agents/scribe.md'), SCRIBE);
  symlinkSync(join(folder, 'plugin'), join(folder, 'node_modules/rollcall-plugin-example'));
}

function link(name: string): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), target);
}

function start(settings: Record<string, string>): RollcallProcess {
  const command = [process.execPath, join(folder, 'node_modules/rollcall/bin/rollcall.js'), 'start'];
  return new RollcallProcess({ DATABASE_URL: url, ROLLCALL_ADMIN_KEY: KEY, ...settings }, { command, folder });
}

describe('the packed package', () => {
  it('M-4 contains declarations that name only its entry points and public packages', () => {
    const declarations = readdirSync(join(folder, 'node_modules/rollcall/dist'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.d.ts'))
      .map((name) => readFileSync(join(folder, 'node_modules/rollcall/dist', name), 'utf8'));
    expect(declarations.length).toBeGreaterThan(20);
    expect(declarations.filter((text) => text.includes('#rollcall/'))).toEqual([]);
  });

  it('M-4 has one page for each entry point, and a comment for each exported name (update: npm run docs)', async () => {
    const pages = await apiPages();
    expect(pages.map(({ path }) => path)).toEqual(
      ['plugin', 'embed', 'testing', 'client'].map((name) => `docs/api/${name}.md`),
    );
    const titles = (text: string): string[] => [...text.matchAll(/^## .*$/gm)].map(([title]) => title);
    for (const { path, text } of pages) expect(titles(readFileSync(join(ROOT, path), 'utf8'))).toEqual(titles(text));
    expect(missingComments()).toEqual([]);
  });

  it.each(['5.9', '6.0'] as const)(
    'M-4 compiles strict projects of users with TypeScript %s, and no wrong option of them',
    async (version) => {
      const { path, projects } = COMPILERS[version];
      const { version: installed } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as {
        version: string;
      };
      expect(installed.startsWith(`${version}.`)).toBe(true);
      const errors = await Promise.all(projects.map(async (name) => await compile(name, version)));
      expect(errors.join('')).toBe('');
    },
    FIVE_MINUTES,
  );

  it(
    'M-4 has no problem that publint or "Are the types wrong?" can find',
    async () => {
      const publint = [join(ROOT, 'node_modules/publint/src/cli.js'), 'run', tarball, '--strict'];
      expect((await run(process.execPath, publint)).stdout).toContain('All good!');
      const attw = [join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js'), tarball, '--profile', 'esm-only'];
      const { stdout } = await run(process.execPath, [...attw, '--format', 'json', '--quiet']);
      expect(stdout).toBe('');
    },
    FIVE_MINUTES,
  );

  it(
    'M-4 starts two replicas with installed plugins, which show the same parts',
    async () => {
      const settings = {
        ROLLCALL_PLUGINS: JSON.stringify(PLUGINS),
        ROLLCALL_LANGFUSE_REFRESH_EVERY: '1s',
        ROLLCALL_RUNTIME_RUN_TIMEOUT: '60s',
      };
      [one, two] = await Promise.all([start(settings).ready(), start(settings).ready()]);
      for (const at of [one, two]) {
        expect((await send(at, 'GET', '/v1/plugins')).body).toMatchObject({
          items: [
            { name: 'example', from: 'rollcall-plugin-example', faults: [] },
            { name: 'acme', from: './acme.js' },
            { name: 'weather', from: './weather.mjs' },
          ],
        });
      }
    },
    FIVE_MINUTES,
  );

  /** The text of the answer, or the state of a run that did not complete. */
  const ask = async (at: RollcallProcess, definition: string, input: string): Promise<string> => {
    const { body } = await send(at, 'POST', '/v1/runs?waitMs=10000', { definition, input });
    const { id } = body as { id: string };
    type Run = { state: string; result: { reason?: string; parts: { text?: string }[] } | null };
    let ended: Run | undefined;
    await until('the run has ended', async () => {
      const { body: now } = await send(at, 'GET', `/v1/runs/${id}?waitMs=10000`);
      ended = now as unknown as Run;
      return ended.result !== null;
    });
    const { state, result } = ended ?? { state: '', result: null };
    if (state !== 'completed') return `${state}: ${result?.reason ?? ''}`;
    return (result?.parts ?? []).map(({ text = '' }) => text).join('');
  };

  /** What an installed plugin adds, as a client of a replica sees it. */
  const KINDS: Readonly<Record<PluginPart, (at: RollcallProcess) => Promise<unknown>>> = {
    tools: async (at) => {
      expect(await ask(at, 'acme-guide', 'use acme_forecast')).toBe('tool said sunny in Oslo today');
      expect(await ask(at, 'weatherman', 'Call forecast {"city": "Oslo"}')).toBe('It is sunny in Oslo.');
    },
    toolBoxes: async (at) => {
      expect(await ask(at, 'acme-guide', 'use acme_time')).toBe('tool said noon');
      expect(await ask(at, 'gambler', 'use flip_coin')).toMatch(/^tool said (heads|tails)$/);
    },
    skills: async (at) =>
      expect((await send(at, 'GET', '/v1/skills')).body).toMatchObject({
        items: expect.arrayContaining([expect.objectContaining({ name: 'manners' })]) as unknown,
      }),
    definitions: async (at) =>
      // `scribe` is a file that the plugin loads with loadFromDirectory
      expect(await ask(at, 'scribe', 'Ada')).toBe('you said Ada'),
    factories: async (at) => {
      // the first of two toolboxes with the tool is used, and the guardrail of the agent is around its run
      const task = '{"agent":"acme-leader","task":"use which_box"}';
      expect(await ask(at, 'acme-guide', `use delegate_to_agent ${task}`)).toContain('tool said box one, checked');
      const { body } = await send(at, 'GET', '/x/acme/desk/crew');
      expect(body).toEqual({ names: ['acme-echo', 'acme-leader'], spawned: ['acme-echo', 'acme-echo'] });
    },
    agentProviders: async (at) => expect(await ask(at, 'mirror', 'abc')).toBe('cba'),
    modelVendors: async (at) => expect(await ask(at, 'butler', 'Ada')).toBe('Bonjour Ada'),
    strategies: async (at) => {
      await until('the replica knows both agents', async () => {
        const { body } = await send(at, 'POST', '/v1/agents/query', {
          capabilities: ['weigh'],
          prefer: 'most-capable',
        });
        const ids = (body['candidates'] as { agent: { agentId: string } }[]).map(({ agent }) => agent.agentId);
        return ids.join() === 'many,few';
      });
    },
    scoringRules: async (at) => expect(await auction(at)).toEqual({ winner: 'quick', rule: 'soonest' }),
    middleware: async (at) => {
      const { body } = await send(at, 'GET', '/v1/definitions/butler/effective');
      expect(body['middleware']).toEqual(expect.arrayContaining(['example.stopwatch', 'acme.quiet', 'acme.strict']));
      await until('the middleware of this replica has seen a run', async () => {
        await ask(at, 'scribe', 'hello');
        return Number((await send(at, 'GET', '/x/acme/desk/runs')).body['runs']) > 0;
      });
    },
    inputGuardrails: async (at) => expect(await ask(at, 'butler', '4111111111111111')).toBe('stopped: guardrail'),
    outputGuardrails: async (at) => {
      expect(await ask(at, 'butler', 'my password')).toBe('stopped: guardrail');
      expect(await ask(at, 'scribe', 'a secret')).toBe('you said a ***');
    },
    eventSinks: async () => {
      const file = join(folder, 'events.jsonl');
      await until('the sink has written the event', () => {
        return existsSync(file) && readFileSync(file, 'utf8').includes('"subject":"many"');
      });
    },
    budgetSources: async (at) => {
      const agentId = `metered-${at.pid}`;
      await Given.at(at.url, KEY).agent({ agentId, budget: { totalTokens: 1_000, source: 'meter' } });
      await until('the usage of the source is charged', async () => {
        const { body } = await send(at, 'GET', `/v1/agents/${agentId}`);
        return (body['budget'] as { usedTokens: number }).usedTokens === 42;
      });
    },
    modules: async (at) => {
      expect((await send(at, 'GET', '/x/acme/desk/tools')).body).toMatchObject({
        tools: expect.arrayContaining(['greet', 'forecast', 'flip_coin']) as unknown,
      });
      expect((await send(at, 'GET', '/x/acme/desk/undeclared')).status).toBe(403);
    },
  };

  /** Two agents bid. Returns the winner by the rule of the plugin. */
  const auction = async (at: RollcallProcess): Promise<{ winner: unknown; rule: unknown }> => {
    const contract = { capabilities: ['build'], task: 'Build it.', scoring: 'soonest', bidWithinMs: 30_000 };
    const agents = [bidders.slow, bidders.quick];
    await until('the replica knows the bidders', async () => {
      const { body } = await send(at, 'POST', '/v1/agents/query', { capabilities: ['build'] });
      return (body['candidates'] as unknown[]).length === agents.length;
    });
    const { body: announced } = await send(at, 'POST', '/v1/contracts', contract);
    const path = `/v1/contracts/${String(announced['id'])}`;
    for (const [index, { agentId, generation, leaseToken: key }] of agents.entries()) {
      const body = { agentId, generation, price: 1 + index, etaMs: agentId === 'quick' ? 1_000 : 9_000, confidence: 1 };
      expect((await call(at.url, 'POST', `${path}/bids`, { key, body })).status).toBeLessThan(300);
    }
    let awarded: Record<string, unknown> = {};
    await until('the contract is awarded', async () => {
      awarded = (await send(at, 'GET', path)).body;
      return awarded['winner'] !== null;
    });
    const transcript = awarded['transcript'] as { kind: string; data: { rule?: string } }[];
    return { winner: awarded['winner'], rule: transcript.find(({ kind }) => kind === 'scored')?.data.rule };
  };
  let bidders: Record<'slow' | 'quick', GivenAgent>;

  it('M-4 registers the agents and the definition that the parts need', async () => {
    const content = { description: 'Plays.', model: { vendor: 'parrot', model: 'p1' }, tools: ['flip_coin'] };
    expect((await send(one, 'POST', '/v1/definitions', { name: 'gambler', content })).status).toBe(201);
    const given = Given.at(one.url, KEY);
    await given.agent({ agentId: 'few', capabilities: ['weigh'] });
    await given.agent({ agentId: 'many', capabilities: ['weigh', 'lift', 'carry'] });
    bidders = { slow: await given.agent({ agentId: 'slow' }), quick: await given.agent({ agentId: 'quick' }) };
    expect((await send(one, 'GET', '/v1/agents/quick')).status).toBe(200);
  });

  it.each(Object.entries(KINDS))(
    'M-4 S1.7 S2.2 S2.3 S2.8 S3.7 S4.2 uses %s of an installed plugin on both replicas',
    async (_part, uses) => {
      await uses(one);
      await uses(two);
    },
    FIVE_MINUTES,
  );

  it(
    'M-4 starts for the tests of a plugin',
    async () => {
      const { PATH = '' } = process.env;
      const env = { PATH, DATABASE_URL: url, ROLLCALL_ADMIN_KEY: KEY };
      const { stdout } = await run(process.execPath, ['--test', 'plugin/dist/index.test.js'], { cwd: folder, env });
      expect(stdout).toContain('pass 1');
    },
    FIVE_MINUTES,
  );

  it(
    'M-4 serves REST, A2A, MCP and WebSockets below a prefix of another Nest application, and ends with it',
    async () => {
      let output = '';
      const { PATH = '' } = process.env;
      const env = { PATH, PORT: '0', DATABASE_URL: url, ROLLCALL_ADMIN_KEY: KEY, LOG_LEVEL: 'error' };
      const shop: ChildProcess = spawn(process.execPath, [join(folder, 'embedded/dist/main.js')], { env, cwd: folder });
      for (const stream of [shop.stdout, shop.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
      const address = (): string => /listens on (\S+)/.exec(output)?.[1] ?? '';
      await until('the shop listens or has ended', () => address() !== '' || shop.exitCode !== null, 60_000);
      expect(address() || output).toMatch(/^http:/);
      const answer = await call(address(), 'GET', '/shop/tools', {});
      expect(answer.body).toEqual(expect.arrayContaining(['count_orders', 'clock']));
      const body = { definition: 'clerk', input: 'Call count_orders {}' };
      const { body: finished } = await call(address(), 'POST', '/rollcall/v1/runs?waitMs=10000', { key: KEY, body });
      expect(finished).toMatchObject({ state: 'completed', result: { parts: [{ text: '3' }] } });
      expect((await call(address(), 'GET', '/v1/runs', { key: KEY })).status).toBe(404);
      const card = await call(address(), 'GET', '/rollcall/.well-known/agent-card.json', {});
      expect(JSON.stringify(card.body)).toContain(`"url":"${address()}/rollcall/a2a"`);
      const parts = [{ text: 'Call count_orders {}' }];
      const message = { messageId: 'm-1', role: 'ROLE_USER', parts };
      const params = { tenant: 'clerk', message };
      const task = await call(address(), 'POST', '/rollcall/a2a', {
        key: KEY,
        headers: { 'a2a-version': '1.0' },
        body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
      });
      expect(JSON.stringify(task.body)).toContain('"parts":[{"text":"3"');
      const tools = await call<string>(address(), 'POST', '/rollcall/mcp', {
        key: KEY,
        headers: { accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      });
      expect(JSON.stringify(tools.body)).toContain('find_agents');
      expect((await call(address(), 'GET', '/rollcall', {})).status).toBe(200); // redirected to the documentation
      const registration = await Given.at(`${address()}/rollcall`, KEY).agent({ agentId: 'courier' });
      const courier = await AgentClient.connect(`${address()}/rollcall`, registration);
      await courier.received('welcome');
      const ended = new Promise((resolveEnd) => shop.once('exit', resolveEnd));
      shop.kill('SIGTERM');
      expect((await courier.closed()).code).toBe(1001);
      await ended;
    },
    FIVE_MINUTES,
  );
});
