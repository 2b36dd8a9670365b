import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';

const ROOT = resolve(import.meta.dirname, '../..');
const DEPCRUISE = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');

interface Violation {
  from: string;
  rule: { name: string };
}

/** Returns the broken rules of a tree as `rule: file`. */
function brokenRules(root: string): string[] {
  const flags = ['--config', '.dependency-cruiser.js', '--output-type', 'json'];
  const exclude = ['--exclude', 'node_modules/.*/node_modules|^apps/console/']; // bin/build-console.js checks the console
  const text = execFileSync(process.execPath, [DEPCRUISE, 'apps', 'libs', ...flags, ...exclude], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const { summary } = JSON.parse(text) as { summary: { violations: Violation[] } };
  return [...new Set(summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`))].toSorted();
}

/** Creates a small tree with the same libraries, entry points and rules, and with these files. */
function treeWith(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'rollcall-arrows-'));
  const entryPoints = {
    'libs/platform/src/index.ts': 'export const platform = 1;',
    'libs/registry/src/index.ts': 'export const registry = 1;',
    'libs/providers/src/index.ts': 'export const providers = 1;',
    'libs/client/src/index.ts': 'export const client = 1;',
    'libs/test-support/src/index.ts': 'export const testing = 1;',
    'libs/agent-runtime/src/index.ts': 'export const runtime = 1;',
    'apps/api/src/main.ts': 'export const main = 1;',
    'libs/registry/src/inside.ts': 'export const inside = 1;',
    'libs/registry/src/b.ts': `import './a.js';`,
    'libs/registry/src/testing/index.ts': 'export const testing = 1;',
  };
  for (const [path, text] of Object.entries({ ...entryPoints, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  for (const path of ['.dependency-cruiser.js', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, path), join(root, path));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return root;
}

/** A rule, a file that breaks it, and the text of the file. */
const VIOLATIONS = [
  ['no-circular', 'libs/registry/src/a.ts', `import './b.js';`],
  ['platform-is-a-leaf', 'libs/platform/src/a.ts', `import '#rollcall/registry';`],
  ['registry-depends-on-platform-only', 'libs/registry/src/c.ts', `import '#rollcall/providers';`],
  ['providers-is-a-leaf', 'libs/providers/src/a.ts', `import '#rollcall/registry';`],
  ['client-is-a-leaf', 'libs/client/src/a.ts', `import '#rollcall/platform';`],
  ['client-is-a-leaf', 'libs/client/src/b.ts', `import 'node:fs';`],
  ['client-is-a-leaf', 'libs/client/src/c.ts', `import 'zod';`],
  ['server-does-not-know-its-client', 'apps/api/src/e.ts', `import '#rollcall/client';`],
  ['server-does-not-know-its-client', 'libs/registry/src/d.ts', `import '#rollcall/client';`],
  ['command-line-uses-the-client', 'apps/cli/src/a.ts', `import '../../api/src/main.js';`],
  ['command-line-uses-the-client', 'apps/cli/src/b.ts', `import '#rollcall/registry';`],
  ['server-does-not-know-the-command-line', 'apps/api/src/f.ts', `import '../../cli/src/a.js';`],
  ['test-helpers-are-a-leaf', 'libs/test-support/src/a.ts', `import '#rollcall/platform';`],
  ['runtime-does-not-know-the-edge', 'libs/agent-runtime/src/a.ts', `import '../../../apps/api/src/main.js';`],
  [
    'libraries-are-imported-through-their-entry-points',
    'apps/api/src/a.ts',
    `import '../../../libs/registry/src/inside.js';`,
  ],
  ['testing-stays-in-tests', 'apps/api/src/b.ts', `import '#rollcall/registry/testing';`],
  ['testing-stays-in-tests', 'libs/providers/src/b.ts', `import '#rollcall/test-support';`],
  ['libs-know-no-http', 'libs/agent-runtime/src/b.ts', `import 'fastify';`],
  ['providers-know-no-database', 'libs/providers/src/c.ts', `import 'pg';`],
  ['only-declared-packages', 'apps/api/src/c.ts', `import 'jest';`],
  ['nothing-unresolved', 'apps/api/src/d.ts', `import './nowhere.js';`],
] as const;

describe('the rules for dependencies', () => {
  it('this repository follows all rules', () => {
    expect(brokenRules(ROOT)).toEqual([]);
  });

  describe('in a tree with violations', () => {
    let root: string;
    let broken: string[];
    beforeAll(() => {
      root = treeWith(Object.fromEntries(VIOLATIONS.map(([, path, text]) => [path, text])));
      broken = brokenRules(root);
    });
    afterAll(() => rmSync(root, { recursive: true }));

    it.each(VIOLATIONS)('report a violation of %s by %s', (rule, path) => {
      expect(broken).toContain(`${rule}: ${path}`);
    });
  });
});
