import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/how-to/add-a-provider.md'), 'utf8');
/** Matches a line that contains only a path, followed by the code of that file. */
const BLOCK = /^`(libs\/[^`\n]+)`\n+```ts\n(.*?)^```$/gms;
const RUNNER = ['native.runner.js', 'typescript.hooks.js'].map((name) => `test/support/${name}`);
const CONFIGS = ['package.json', 'tsconfig.json', '.swcrc', 'jest.config.js', ...RUNNER];
const WITHOUT_POSTGRES = ['globalSetup', 'globalTeardown', 'reporters', 'testSequencer']
  .map((name) => `delete config.${name};`)
  .join('\n');
const TWO_MINUTES = 120_000;

describe('docs/how-to/add-a-provider.md', () => {
  const blocks = [...PAGE.matchAll(BLOCK)].map(([, path = '', code = '']) => ({ path, code }));
  let copy: string;
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'how-to-'));
    for (const library of ['libs/providers', 'libs/test-support'])
      cpSync(join(ROOT, library), join(copy, library), { recursive: true });
    for (const file of CONFIGS) cpSync(join(ROOT, file), join(copy, file));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it.each(['agents/', 'models/'])('S1.7 adds a provider to %s in less than 60 lines', (folder) => {
    const entryPoint = folder === 'agents/' ? 'src/index.ts' : 'no entry point';
    const lines = blocks
      .filter(({ path }) => path.includes(folder) || path.endsWith(entryPoint))
      .map(({ code }) => code.trimEnd().split('\n').length);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(60);
  });

  it(
    'S1.7 contains providers that compile and pass their contracts',
    async () => {
      for (const { path, code } of blocks) {
        const file = join(copy, path);
        mkdirSync(dirname(file), { recursive: true });
        if (existsSync(file)) appendFileSync(file, code);
        else writeFileSync(file, code);
      }
      const passed = await runSpecs(copy);
      expect(passed).toMatchObject({ success: true, numPassedTestSuites: 2 });
      expect(passed.numPassedTests).toBeGreaterThan(25);
      await node(copy, ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json']);
    },
    TWO_MINUTES,
  );
});

async function runSpecs(folder: string): Promise<{ success: boolean; numPassedTests: number }> {
  const config = `import config from './jest.config.js';\n${WITHOUT_POSTGRES}\nconfig.roots = ['<rootDir>/libs'];\nexport default config;\n`;
  writeFileSync(join(folder, 'how-to.config.js'), config);
  const jest = ['node_modules/jest/bin/jest.js', '--config', 'how-to.config.js'];
  const { stdout } = await node(folder, [...jest, '--json', '--runInBand', 'plain-text', 'gateway']);
  return JSON.parse(stdout) as { success: boolean; numPassedTests: number };
}

/** Rejects with the printed output if the process fails. */
async function node(cwd: string, args: string[]): Promise<{ stdout: string }> {
  return await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: 1 << 26 });
}
