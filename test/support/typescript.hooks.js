/** Lets Node import TypeScript sources: `./agent.js` and `#rollcall/registry` lead to .ts files, which are compiled when loaded. */
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks, setSourceMapsSupport } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const COMPILER = JSON.parse(readFileSync(new URL('../../.swcrc', import.meta.url), 'utf8'));

setSourceMapsSupport(true);
registerHooks({
  resolve(specifier, context, next) {
    const conditions = ['rollcall-source', ...context.conditions];
    return next(sourceOf(specifier, context.parentURL ?? '') ?? specifier, { ...context, conditions });
  },
  load(url, context, next) {
    if (!isSource(url)) return next(url, context);
    const filename = fileURLToPath(url);
    const { code } = transformSync(readFileSync(filename, 'utf8'), { ...COMPILER, filename, sourceMaps: 'inline' });
    return { format: 'module', source: code, shortCircuit: true };
  },
});

/** If a source imports another source by its name after compilation, returns the URL of that source; otherwise undefined. */
function sourceOf(specifier, parent) {
  if (!isSource(parent) || !/^\.{1,2}\/.*\.js$/.test(specifier)) return undefined;
  const source = new URL(specifier.replace(/\.js$/, '.ts'), parent);
  return existsSync(source) ? source.href : undefined;
}

function isSource(url) {
  return url.startsWith('file:') && url.endsWith('.ts');
}
