/**
 * `npm run declarations`: writes the declarations of the entry points of the package, and of everything they refer to, next to the compiled
 * code in dist/. Imports of other libraries (`#rollcall/…`) become relative paths, because only this package can resolve them.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SPECIFIER = /(\bfrom |\bimport\(|\bimport |\bdeclare module )(['"])((?:\.{1,2}|#rollcall)\/[^'"]+)\2/g;

/** The declarations of all entry points in `exports`, relative to the root. */
function entryPoints() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return Object.values(exports).flatMap(({ types }) => (types ? [types.replace('./dist/', '')] : []));
}

/** The declaration file that a specifier in `file` refers to. Both are relative to the folder of the declarations. */
function targetOf(specifier, file) {
  if (!specifier.startsWith('#rollcall/')) return join(dirname(file), specifier).replace(/\.js$/, '.d.ts');
  return `libs/${specifier.slice('#rollcall/'.length)}/src/index.d.ts`;
}

function relativeTo(file, target) {
  const path = relative(dirname(file), target).replace(/\.d\.ts$/, '.js');
  return path.startsWith('.') ? path : `./${path}`;
}

/** Returns the number of files. */
export function writeDeclarations() {
  const emitted = mkdtempSync(join(ROOT, 'node_modules', '.declarations-'));
  try {
    const flags = [
      '--declaration',
      '--emitDeclarationOnly',
      '--noEmit',
      'false',
      '--outDir',
      emitted,
      '--noCheck', // npm run typecheck has checked the types
    ];
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.package.json', ...flags], {
      cwd: ROOT,
      stdio: 'inherit',
    });
    const pending = entryPoints();
    const done = new Set();
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      if (done.has(file)) continue;
      done.add(file);
      const text = readFileSync(join(emitted, file), 'utf8').replaceAll(SPECIFIER, (_, start, quote, specifier) => {
        const target = targetOf(specifier, file);
        pending.push(target);
        return `${start}${quote}${relativeTo(file, target)}${quote}`;
      });
      const path = join(ROOT, 'dist', file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    return done.size;
  } finally {
    rmSync(emitted, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(`${writeDeclarations()} declarations`);
