/**
 * Bundles the web console into dist/apps/console: an index.html, and assets whose names contain a hash of their content, each also
 * compressed. If nothing of it has changed, the files of the last build are copied.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';

/** The console reads data only through the client, so it contains no other source of the repository. */
const SOURCES = /^(apps\/console\/|libs\/client\/src\/|node_modules\/)/;
const COMPRESSED = /\.(js|css)$/;

/** @param {{ root: string, from: string, to: string, fingerprint: string }} options `from` is the last build, and `to` the new one. */
export function buildConsole({ root, from, to, fingerprint }) {
  const [last, folder] = [from, to].map((build) => join(build, 'apps', 'console'));
  const stamp = join(last, '.stamp');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) {
    cpSync(last, folder, { recursive: true });
    return;
  }
  const { entry, style } = bundle(root, folder);
  const page = readFileSync(join(root, 'apps/console/index.html'), 'utf8');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'index.html'), page.replace('main.css', style).replace('main.js', entry));
  for (const name of readdirSync(join(folder, 'assets')).filter((file) => COMPRESSED.test(file)))
    compress(join(folder, 'assets', name));
  writeFileSync(join(folder, '.stamp'), fingerprint);
}

/** @param {string} root @param {string} folder @returns {{ entry: string, style: string }} */
function bundle(root, folder) {
  const { metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: { main: 'apps/console/src/main.tsx' },
    outdir: join(folder, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    metafile: true,
    conditions: ['rollcall-source'],
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfig: 'apps/console/tsconfig.json',
    logLevel: 'error',
  });
  const foreign = Object.keys(metafile.inputs).filter((input) => !SOURCES.test(input));
  if (foreign.length > 0) throw new Error(`apps/console may import only libs/client, and not ${foreign.join(', ')}`);
  const outputs = Object.entries(metafile.outputs);
  const entry = outputs.find(([, { entryPoint }]) => entryPoint === 'apps/console/src/main.tsx');
  if (!entry?.[1].cssBundle) throw new Error('the console has no entry or no style sheet');
  return { entry: basename(entry[0]), style: basename(entry[1].cssBundle) };
}

/** @param {string} path */
function compress(path) {
  const content = readFileSync(path);
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
}
