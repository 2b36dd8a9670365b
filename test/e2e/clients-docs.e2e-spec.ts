import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ClientProject } from '../support/client-package.js';
import { examplesOf, NODES } from '../support/doc-example.js';

const PUBLINT = join(import.meta.dirname, '../../node_modules/publint/src/cli.js');
const MAX_GZIP_BYTES = 12 << 10;

const [PROGRAM = '', AGENT = '', CALLER = ''] = examplesOf('clients.md', 'ts');
/** A part of the program, and a text with a wrong field that replaces it. */
const WRONG: Record<string, [part: string, replacement: string]> = {
  input: ["capabilities: ['build'],\n", "capabilites: ['build'],\n"],
  response: ['settled.used?.tokens', 'settled.used?.token'],
  event: ['event.data.capabilities', 'event.data.reason'],
  step: ['step.reply.finish', 'step.call.name'],
  error: ["error.code !== 'BUDGET_EXHAUSTED'", 'error.codes'],
};

let errors: string;
let api: TestApi;
let project: ClientProject;

beforeAll(async () => {
  api = await startApi();
  project = new ClientProject();
  await project.install();
  errors = await project.compile({
    program: PROGRAM,
    agent: AGENT,
    caller: CALLER,
    ...Object.fromEntries(Object.keys(WRONG).map(wrongProgram)),
  });
}, 300_000);
afterAll(async () => {
  project.remove();
  await api.stop();
});

function wrongProgram(name: string): [name: string, program: string] {
  const [part, replacement] = WRONG[name] ?? ['', ''];
  if (!PROGRAM.includes(part)) throw new Error(`the program does not contain ${part}`);
  return [name, PROGRAM.replace(part, replacement)];
}

function linesOf(program: string): number {
  return program.trim().split('\n').length;
}

/** The errors of the compiler in one program. */
function errorsIn(name: string): string[] {
  return errors.split('\n').filter((line) => line.startsWith(`${name}.ts(`));
}

describe('the packed client in an empty folder', () => {
  it.each(NODES)(
    'N-5 the program of docs/clients.md compiles in strict mode, and works: %s',
    async (node) => {
      expect(errorsIn('program')).toEqual([]);
      const own = await startApi(); // each version begins with an empty log
      const output = await project.start('program', { ROLLCALL_URL: own.url, ROLLCALL_KEY: own.adminKey }, node);
      await own.stop();
      expect(output.replaceAll(/swarm-builder-\w+/g, '<agent>').split('\n')).toEqual([
        expect.stringMatching(/^next heartbeat in \d+ ms$/),
        expect.stringMatching(/^best candidate: <agent>, /),
        'settled: 1500 tokens',
        '402 BUDGET_EXHAUSTED: 1500 tokens are used',
        'swarm-builder is active',
        'a page with 1 agent',
        '<agent> can build',
        'completed: You said: Hello.',
        expect.stringMatching(/stop$/),
        '',
      ]);
    },
    180_000,
  );

  it.each(NODES)(
    'N-5 an agent of at most 15 lines answers a caller of at most 10 lines, and leaves on SIGTERM: %s',
    async (node) => {
      expect([errorsIn('agent'), errorsIn('caller')]).toEqual([[], []]);
      expect(linesOf(AGENT)).toBeLessThanOrEqual(15);
      expect(linesOf(CALLER)).toBeLessThanOrEqual(10);
      const environment = { ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey };
      const agent = project.spawn('agent', environment, node);
      await until('the agent is ready', () => agent.output().includes('shouter is ready\n'));
      expect(await project.start('caller', environment, node)).toBe('completed: HELLO\n');
      const exit = once(agent.child, 'exit');
      agent.child.kill('SIGTERM');
      expect(await exit).toEqual([0, null]);
      expect(agent.output()).toBe('shouter is ready\nshouter has left: shutdown\n');
    },
    60_000,
  );

  it.each(Object.keys(WRONG))('N-5 a wrong field does not compile: %s', (name) => {
    expect(errorsIn(name)).not.toEqual([]);
  });

  it('has less than 12 KB of code in gzip, and passes publint', async () => {
    const code = globSync('dist/**/*.js', { cwd: project.installed }).map((file) =>
      readFileSync(join(project.installed, file)),
    );
    expect(code.length).toBeGreaterThan(8);
    expect(gzipSync(Buffer.concat(code)).length).toBeLessThan(MAX_GZIP_BYTES);
    await promisify(execFile)(process.execPath, [PUBLINT, 'run', project.installed, '--strict', '--pack', 'npm']);
  });

  it('contains no path of the machine that packed it', () => {
    const maps = globSync('dist/**/*.map', { cwd: project.installed });
    const sources = maps.flatMap((file) => {
      const map = JSON.parse(readFileSync(join(project.installed, file), 'utf8')) as { sources: string[] };
      return map.sources;
    });
    expect(sources.length).toBeGreaterThan(8);
    expect(sources.filter((path) => !/^(\.\.\/)+src\//.test(path))).toEqual([]);
  });

  it('works in a browser: calls, errors and a stream', async () => {
    await api.given.agent({ agentId: 'seen-in-browser' });
    const browser = await openBrowser();
    const page = await browser.newPage();
    await page.route('**/client/**', async (route) => {
      const file = join(project.installed, 'dist', new URL(route.request().url()).pathname.replace('/client/', ''));
      await route.fulfill({ body: readFileSync(file), contentType: 'text/javascript' });
    });
    await page.route(
      '**/client-page',
      async (route) => await route.fulfill({ body: '<p></p>', contentType: 'text/html' }),
    );
    await page.goto(`${api.url}/client-page`);
    const program = `
      const { rollcallClient } = await import('/client/index.js');
      const rollcall = rollcallClient({ url: location.origin, credential: '${api.adminKey}' });
      const wrong = rollcallClient({ url: location.origin, credential: 'rk_wrong' });
      const seen = [];
      for await (const { agentId } of rollcall.agents.list()) seen.push(agentId);
      for await (const { type, subject } of rollcall.follow({ after: 'oldest', agentIds: ['seen-in-browser'] })) {
        seen.push(type + ' ' + subject);
        break;
      }
      seen.push(await wrong.follow().next().catch(({ code }) => code));
      await rollcall.agents.drain('seen-in-browser', {});
      seen.push((await rollcall.agents.get('seen-in-browser')).status);
      return seen;`;
    const seen = await page.evaluate(`(async () => { ${program} })()`);
    await browser.close();
    expect(seen).toEqual([
      'seen-in-browser',
      'dev.rollcall.agent.joined seen-in-browser',
      'UNAUTHENTICATED',
      'draining',
    ]);
  });
});
