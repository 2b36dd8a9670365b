import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const HOW_TO = readFileSync(join(ROOT, 'docs/how-to/add-a-tool.md'), 'utf8');
const PAGES = `${HOW_TO}\n${readFileSync(join(ROOT, 'docs/runtime/tools.md'), 'utf8')}`;
/** Matches a line that contains only a path, followed by the code of that file. */
const BLOCK = /^`(apps\/[^`\n]+)`\n+```ts\n(.*?)^```$/gms;
const RUNNER = ['native.runner.js', 'typescript.hooks.js'].map((name) => `test/support/${name}`);
const CONFIGS = ['package.json', 'tsconfig.json', '.swcrc', 'jest.config.js', ...RUNNER];
const CONFIG = `import config from './jest.config.js';
for (const name of ['globalSetup', 'globalTeardown', 'reporters', 'testSequencer']) delete config[name];
config.roots = ['<rootDir>/apps'];
export default config;
`;
/** The copy is compiled without a cache. */
const FIVE_MINUTES = 300_000;

describe('docs/how-to/add-a-tool.md and docs/runtime/tools.md', () => {
  let copy: string;
  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'how-to-'));
    cpSync(join(ROOT, 'libs'), join(copy, 'libs'), { recursive: true });
    for (const file of CONFIGS) cpSync(join(ROOT, file), join(copy, file));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    writeFileSync(join(copy, 'how-to.config.js'), CONFIG);
    writeFileSync(join(copy, 'how-to.json'), '{ "extends": "./tsconfig.json", "include": ["apps"] }');
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('S2.2 explain in less than 40 lines how to add a tool', () => {
    expect(HOW_TO.trimEnd().split('\n').length).toBeLessThan(40);
  });

  it(
    'S2.2 contain tools that compile and pass their tests',
    async () => {
      for (const [, path = '', code = ''] of PAGES.matchAll(BLOCK)) {
        mkdirSync(dirname(join(copy, path)), { recursive: true });
        writeFileSync(join(copy, path), code);
      }
      const jest = ['node_modules/jest/bin/jest.js', '--config', 'how-to.config.js'];
      const { stdout } = await node([...jest, '--json', '--runInBand']);
      expect(JSON.parse(stdout)).toMatchObject({ success: true, numPassedTests: 2 });
      await node(['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'how-to.json']);
    },
    FIVE_MINUTES,
  );

  /** Rejects with the printed output if the process fails. */
  async function node(args: string[]): Promise<{ stdout: string }> {
    return await promisify(execFile)(process.execPath, args, { cwd: copy, maxBuffer: 1 << 26 });
  }
});
