/**
 * Generates a TypeScript client from the OpenAPI document of a running API, or from a file:
 * `npm run client -- <folder> [<URL or file of the document>]`
 */
import { readFileSync } from 'node:fs';
import { createClient } from '@hey-api/openapi-ts';

const DEFAULT_DOCUMENT = 'http://127.0.0.1:8080/openapi.json';
const PLUGINS = [
  '@hey-api/client-fetch',
  '@hey-api/typescript',
  { name: '@hey-api/sdk', operations: { strategy: 'single', containerName: 'Rollcall', nesting: 'operationId' } },
];

async function readDocument(source) {
  if (!/^https?:/.test(source)) return JSON.parse(readFileSync(source, 'utf8'));
  const response = await fetch(source);
  if (!response.ok) throw new Error(`status ${response.status}`);
  return await response.json();
}

async function generate(folder, source) {
  await createClient({
    input: await readDocument(source),
    output: { path: folder, module: { extension: '.js' } },
    plugins: PLUGINS,
    logs: { file: false, level: 'silent' },
  });
}

const [folder, source = DEFAULT_DOCUMENT] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Usage: npm run client -- <folder> [<URL or file of the document>]');
  process.exit(1);
}
try {
  await generate(folder, source);
  console.log(`The client is in ${folder}.`);
} catch (error) {
  console.error(`Cannot generate a client from ${source}: ${error.message || error.cause}. Is the API running there?`);
  process.exitCode = 1;
}
