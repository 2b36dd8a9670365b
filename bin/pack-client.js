/**
 * `npm run pack:client [-- <folder>]`: compiles libs/client into a package of its own, and packs it into `rollcall-client-<version>.tgz`
 * in the folder (default: the current one). It prints the path of the file.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minifySync } from '@swc/core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CLIENT = join(ROOT, 'libs', 'client');

/** Writes the package into this folder. */
export function writePackage(folder) {
  const node = (...program) => execFileSync(process.execPath, program, { cwd: ROOT, stdio: 'inherit' });
  mkdirSync(folder, { recursive: true });
  const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const manifest = JSON.parse(readFileSync(join(CLIENT, 'package.template.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, version, license }, null, 2)}\n`);
  // the sources are compiled in the package, so that the source maps contain no path of this machine
  cpSync(join(CLIENT, 'src'), join(folder, 'src'), { recursive: true });
  const project = join(folder, 'tsconfig.json');
  const compilerOptions = { rootDir: 'src', outDir: 'dist', inlineSources: true };
  const exclude = ['src/**/*.spec.ts'];
  writeFileSync(
    project,
    JSON.stringify({ extends: join(CLIENT, 'tsconfig.json'), compilerOptions, include: ['src'], exclude }),
  );
  node(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project);
  rmSync(project);
  rmSync(join(folder, 'src'), { recursive: true });
  for (const name of ['schema.js', 'schema.js.map']) rmSync(join(folder, 'dist/generated', name)); // only types
  for (const file of globSync('dist/**/*.js', { cwd: folder })) minify(join(folder, file));
  cpSync(join(CLIENT, 'README.md'), join(folder, 'README.md'));
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
}

/** Replaces a module by a smaller one. Its source map leads to the source. */
function minify(file) {
  const { code, map } = minifySync(readFileSync(file, 'utf8'), {
    module: true,
    compress: { passes: 2 },
    mangle: true,
    sourceMap: { content: readFileSync(`${file}.map`, 'utf8') },
    inlineSourcesContent: true,
  });
  writeFileSync(file, `${code}\n//# sourceMappingURL=${basename(file)}.map\n`);
  writeFileSync(`${file}.map`, map);
}

/** Returns the path of the packed file. */
function pack(target) {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-client-'));
  try {
    writePackage(folder);
    const flags = ['pack', '--json', '--pack-destination', target];
    const [{ filename }] = JSON.parse(execFileSync('npm', flags, { cwd: folder, encoding: 'utf8' }));
    return join(target, filename);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = resolve(process.argv[2] ?? '.');
  mkdirSync(target, { recursive: true });
  console.log(pack(target));
}
