import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { type Answer, call } from '../support/call.js';
import { Given } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const ROOT = resolve(import.meta.dirname, '../..');
const KEY = 'k'.repeat(40);
const FIVE_MINUTES = 300_000;
const PLUGINS = [
  { use: 'rollcall-plugin-example', config: { language: 'fr', events: 'events.jsonl' } },
  { use: './acme.js', config: { city: 'Oslo' } },
];

/** The compiler rejects a comment of this kind if the next line has no error. */
const WRONG = `import { definePlugin } from 'rollcall/plugin';
// @ts-expect-error a part that does not exist
definePlugin({ name: 'wrong', outputGuards: [] });
// @ts-expect-error a value that does not exist
definePlugin({ name: 'wrong', strategies: [{ name: 's', scoreMeaning: '', best: 'largest', score: () => 1 }] });
// @ts-expect-error a package has no other entry points
import 'rollcall/dist/apps/api/src/app.js';
`;

/** A folder that contains only the packed package with its dependencies, and the projects of users. */
let folder: string;
let url = '';
let one: RollcallProcess;
let two: RollcallProcess;

const run = promisify(execFile);
/** The errors of the compiler; empty if there are none. */
const compile = async (project: string): Promise<string> => {
  const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', join(folder, project), '--pretty', 'false'];
  return await run(process.execPath, tsc).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stdout: string }).stdout,
  );
};
const send = async (at: RollcallProcess, method: string, path: string, body?: unknown): Promise<Answer> =>
  await call(at.url, method, path, { key: KEY, ...(body !== undefined && { body }) });
const ask = async (definition: string, input: string): Promise<Answer> =>
  await send(two, 'POST', '/v1/runs?waitMs=10000', { definition, input });

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
  const installed = join(folder, 'node_modules/rollcall');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '--strip-components=1', '-C', installed]);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: object;
  };
  for (const name of [...Object.keys(dependencies), '@types/node']) link(name);
  for (const name of ['plugin', 'embedded'])
    cpSync(join(ROOT, 'examples', name), join(folder, name), { recursive: true });
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
      .replace('"main.ts"', '"acme.ts", "wrong.ts"], "exclude": [')
      .replace('"dist"', '".."'),
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
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

  it(
    'M-4 compiles strict projects of users, and no wrong option of them',
    async () => {
      expect(await Promise.all(['plugin', 'embedded', 'acme'].map(compile))).toEqual(['', '', '']);
    },
    FIVE_MINUTES,
  );

  it(
    'M-4 S1.7 S2.2 S2.3 S2.8 S3.7 S4.2 loads installed plugins on two replicas',
    async () => {
      const settings = { ROLLCALL_PLUGINS: JSON.stringify(PLUGINS) };
      [one, two] = await Promise.all([start(settings).ready(), start(settings).ready()]);
      const { body } = await send(one, 'GET', '/v1/plugins');
      expect(body).toMatchObject({
        items: [
          { name: 'example', from: 'rollcall-plugin-example' },
          { name: 'acme', from: './acme.js' },
        ],
      });
      expect((await ask('butler', 'Ada')).body).toMatchObject({ result: { parts: [{ text: 'Bonjour Ada' }] } });
      expect((await ask('mirror', 'abc')).body).toMatchObject({ result: { parts: [{ text: 'cba' }] } });
      expect((await ask('butler', 'my password')).body).toMatchObject({
        state: 'stopped',
        result: { reason: 'guardrail' },
      });
      expect((await ask('acme-guide', 'use forecast')).body).toMatchObject({
        result: { parts: [{ text: 'tool said sunny in Oslo today' }] },
      });
      expect((await ask('acme-guide', 'use acme_time')).body).toMatchObject({
        result: { parts: [{ text: 'tool said noon' }] },
      });
      expect((await send(two, 'GET', '/x/acme/desk/tools')).body).toMatchObject({
        tools: expect.arrayContaining(['greet', 'forecast']) as unknown,
      });
      const given = Given.at(one.url, KEY);
      await given.agent({ agentId: 'few', capabilities: ['weigh'] });
      await given.agent({ agentId: 'many', capabilities: ['weigh', 'lift', 'carry'] });
      await until('the other replica knows both agents', async () => {
        const query = { capabilities: ['weigh'], prefer: 'most-capable' };
        const { body: ranking } = await send(two, 'POST', '/v1/agents/query', query);
        return (
          (ranking['candidates'] as { agent: { agentId: string } }[]).map(({ agent }) => agent.agentId).join() ===
          'many,few'
        );
      });
      await until('the sink of the example has written the event', () => {
        const file = join(folder, 'events.jsonl');
        return existsSync(file) && readFileSync(file, 'utf8').includes('"subject":"many"');
      });
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
    'M-4 runs below a prefix of another Nest application, beside its own routes',
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
      const ended = new Promise((resolveEnd) => shop.once('exit', resolveEnd));
      shop.kill('SIGTERM');
      await ended;
    },
    FIVE_MINUTES,
  );
});
