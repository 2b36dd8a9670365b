import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';

const ROOT = resolve(import.meta.dirname, '../..');
const DEPCRUISE = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');

/** The names of the rules that are broken in a tree. */
function brokenRules(root: string): string[] {
  const flags = [
    'apps',
    'libs',
    '--config',
    '.dependency-cruiser.js',
    '--output-type',
    'json',
    '--exclude',
    'node_modules/.*/node_modules',
  ];
  const text = execFileSync(process.execPath, [DEPCRUISE, ...flags], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  const { summary } = JSON.parse(text) as { summary: { violations: { rule: { name: string } }[] } };
  return [...new Set(summary.violations.map(({ rule }) => rule.name))].toSorted();
}

/** Creates a small tree with the same libraries, entry points and rules, and with these files. */
function treeWith(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'rollcall-arrows-'));
  const entryPoints = {
    'libs/platform/src/index.ts': 'export const platform = 1;',
    'libs/registry/src/index.ts': 'export const registry = 1;',
    'libs/providers/src/index.ts': 'export const providers = 1;',
    'libs/test-support/src/index.ts': 'export const testing = 1;',
    'libs/agent-runtime/src/index.ts': 'export const runtime = 1;',
    'apps/api/src/main.ts': 'export const main = 1;',
    'libs/registry/src/inside.ts': 'export const inside = 1;',
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

describe('the rules for dependencies', () => {
  it('this repository follows all rules', () => {
    expect(brokenRules(ROOT)).toEqual([]);
  });

  it.each([
    ['no-circular', { 'libs/registry/src/a.ts': `import './b.js';`, 'libs/registry/src/b.ts': `import './a.js';` }],
    ['platform-is-a-leaf', { 'libs/platform/src/a.ts': `import '#rollcall/registry';` }],
    ['registry-depends-on-platform-only', { 'libs/registry/src/a.ts': `import '#rollcall/providers';` }],
    ['providers-is-a-leaf', { 'libs/providers/src/a.ts': `import '#rollcall/registry';` }],
    ['test-helpers-are-a-leaf', { 'libs/test-support/src/a.ts': `import '#rollcall/platform';` }],
    ['runtime-does-not-know-the-edge', { 'libs/agent-runtime/src/a.ts': `import '../../../apps/api/src/main.js';` }],
    ['one-door-per-lib', { 'apps/api/src/a.ts': `import '../../../libs/registry/src/inside.js';` }],
    ['testing-stays-in-tests', { 'apps/api/src/a.ts': `import '#rollcall/registry/testing';` }],
    ['libs-know-no-http', { 'libs/agent-runtime/src/a.ts': `import 'fastify';` }],
    ['providers-know-no-database', { 'libs/providers/src/a.ts': `import 'pg';` }],
    ['only-declared-packages', { 'apps/api/src/a.ts': `import 'jest';` }],
    ['nothing-unresolved', { 'apps/api/src/a.ts': `import './nowhere.js';` }],
  ])('reports a violation of %s', (rule, files) => {
    const root = treeWith(files);
    expect(brokenRules(root)).toContain(rule);
    rmSync(root, { recursive: true });
  });

  it('testing-stays-in-tests is reported when production code imports libs/test-support', () => {
    const root = treeWith({ 'libs/providers/src/a.ts': `import '#rollcall/test-support';` });
    expect(brokenRules(root)).toEqual(['testing-stays-in-tests']);
    rmSync(root, { recursive: true });
  });
});
