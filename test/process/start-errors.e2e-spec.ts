import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { call } from '../support/call.js';
import { EmbeddedProcesses } from '../support/embedded-processes.js';

let processes: EmbeddedProcesses;
beforeAll(async () => void (processes = await EmbeddedProcesses.initialise()));
afterAll(() => processes.remove());
beforeEach(() => processes.beforeTest());
afterEach(async () => await processes.afterTest());

describe('an error at the start is reported in one sentence', () => {
  async function messageOf(environment: Record<string, string>, files: Record<string, string> = {}): Promise<string> {
    const failed = processes.start(environment, { files });
    expect(await failed.exit()).toBe(1);
    expect(failed.output).not.toMatch(/\n\s+at /);
    return failed.output;
  }

  it('reports a second process on the same data', async () => {
    const first = await processes.startAgain().ready();
    const message = await messageOf({});
    expect(message).toContain(`${processes.folder} is in use by process`);
    expect(message).toContain('DATABASE_URL');
    expect((await call(first.url, 'GET', '/health/ready', {})).status).toBe(200);
  });

  it('reports a port that is in use', async () => {
    processes.copyInitialised();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const message = await messageOf({ PORT: String(port) }).finally(() => other.close());
    expect(message).toContain(`Cannot listen on 127.0.0.1:${port} (EADDRINUSE)`);
    await processes.untilNoServer();
  });

  it('a port that is in use is reported before the data folder is used (N-12)', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const data = join(processes.folder, 'data');
    const message = await messageOf({ PORT: String(port), ROLLCALL_DATA_DIR: data }).finally(() => other.close());
    expect(message).toContain('Stop it, or set PORT to another port (0 for any free one).');
    expect(existsSync(data)).toBe(false);
  });

  it('reports a data folder that is not writable', async () => {
    writeFileSync(join(processes.folder, 'file'), '');
    expect(await messageOf({ ROLLCALL_DATA_DIR: join(processes.folder, 'file', 'data') })).toMatch(
      /The data folder .* cannot be written \(ENOTDIR\)/,
    );
  });

  it('reports a data folder that is a file', async () => {
    writeFileSync(join(processes.folder, 'file'), '');
    expect(await messageOf({ ROLLCALL_DATA_DIR: join(processes.folder, 'file') })).toMatch(
      /The data folder .* is a file/,
    );
  });

  it('a stack trace names the lines of the sources', () => {
    const dist = join(import.meta.dirname, '../../dist/apps/api/src');
    const program = `
      (await import('${dist}/boot/stack-traces.js')).nameSourcesInStackTraces();
      const { loadConfig } = await import('${dist}/config/config.loader.js');
      loadConfig({ ROLLCALL_CONFIG: 'missing.yaml' }, '${processes.folder}');`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(stderr).toMatch(/at loadConfig \(.*\/apps\/api\/src\/config\/config\.loader\.ts:\d+:\d+\)/);
  });

  it('reports a version of Node that is too old', () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })`;
    const main = join(import.meta.dirname, '../../dist/apps/api/src/main.js');
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, main];
    const { status, stderr } = spawnSync(process.execPath, flags, { cwd: processes.folder, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'Rollcall needs Node 24 or newer; this is Node 20.1.0.\n',
    });
  });

  it('S2.11 reports a plugin that cannot be loaded, with the remedy', async () => {
    const files = { 'weather.js': `import 'not-installed'; export default { name: 'weather' };` };
    const message = await messageOf({ ROLLCALL_PLUGINS: './weather.js' }, files);
    expect(message).toContain(
      `The plugin ./weather.js cannot be used: its module cannot be loaded: Cannot find package 'not-installed'`,
    );
    expect(message).toContain('install the package there with npm install');
  });

  it('S2.11 loads ES modules, CommonJS and TypeScript, and reports modules that fail, mix both or never load', () => {
    const modules = {
      'esm.js': `import { definePlugin, defineTool } from 'rollcall/plugin';
        export default definePlugin({ name: 'esm', tools: [defineTool({ name: 'a', description: 'A.', execute: () => 1 })] });`,
      'common.cjs': `module.exports = { name: 'common' };`,
      'compiled.cjs': `exports.default = { name: 'compiled' };`,
      'typed.ts': `import type { Plugin } from 'rollcall/plugin'; export default { name: 'typed' } satisfies Plugin;`,
      'mix.mjs': `const fs = require('node:fs'); export default { name: 'mix' };`,
      'commonjs/esm.js': `import 'node:fs'; export default { name: 'commonjs' };`,
      'commonjs/package.json': '{ "type": "commonjs" }',
      'syntax.mjs': `export default { name: 'syntax' tools: [] };`,
      'throws.js': `throw new Error('no licence');`,
      'hangs.mjs': 'await new Promise((resolve) => setTimeout(resolve, 60_000)); export default {};',
    };
    mkdirSync(join(processes.folder, 'commonjs'), { recursive: true });
    for (const [name, text] of Object.entries(modules)) writeFileSync(join(processes.folder, name), text);
    const loader = join(import.meta.dirname, '../../dist/apps/api/src/plugins/plugin.loader.js');
    const program = `
      const { loadPlugins } = await import('${loader}');
      const load = async (use) => await loadPlugins([{ use }], process.cwd(), { loadMs: 1_000, guardrailMs: 1, callMs: 1 })
        .then(({ all }) => all[0].name, ({ message }) => message);
      const results = {};
      for (const name of ${JSON.stringify([...Object.keys(modules).filter((name) => !name.endsWith('.json')), 'missing.js'])}) results[name] = await load('./' + name);
      console.log(JSON.stringify(results));
      process.exit(0);`;
    const flags = ['--input-type=module', '-e', program];
    const { stdout } = spawnSync(process.execPath, flags, { cwd: processes.folder, encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual({
      'esm.js': 'esm',
      'common.cjs': 'common',
      'compiled.cjs': 'compiled',
      'typed.ts': 'typed',
      'mix.mjs': expect.stringContaining('It mixes CommonJS with ES modules: use import and export') as unknown,
      'commonjs/esm.js': expect.stringContaining('or use the extension .mjs') as unknown,
      'syntax.mjs': expect.stringContaining('Find the place with: node --check ./syntax.mjs') as unknown,
      'throws.js': expect.stringMatching(
        /no licence \(.*throws\.js:1\)\. Correct the code at the top of the module\./,
      ) as unknown,
      'hangs.mjs': expect.stringContaining('its module did not load within 1000 ms') as unknown,
      'missing.js': expect.stringContaining('Check the path, which begins with ./') as unknown,
    });
  });

  it('reports invalid settings', async () => {
    const message = await messageOf({ PORT: 'eighty', LOG_LEVEL: 'loud' });
    expect(message).toContain('The configuration has 2 errors:');
    expect(message).toContain('http.port (PORT): expected a whole number from 0 to 65535, got "eighty"');
  });
});
