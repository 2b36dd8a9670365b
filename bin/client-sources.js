/**
 * Generates the sources of libs/client/src/generated from the OpenAPI document: the types of all schemas and parameters (with Hey API),
 * and the table of operations with its interface. `npm run docs` writes them; a test checks that they match the code.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';

const PROBLEM = { schema: { $ref: '#/components/schemas/Problem' } };
const ERROR = { description: 'An error.', content: { 'application/problem+json': PROBLEM } };

/**
 * Returns the generated sources by file name.
 * @param {object} document
 */
export async function clientSources(document) {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-client-sources-'));
  try {
    await createClient({
      input: structuredClone(reduced(document)),
      output: { path: folder, module: { extension: '.js' } },
      plugins: ['@hey-api/typescript'],
      logs: { file: false, level: 'silent' },
    });
    const schema = readFileSync(join(folder, 'types.gen.ts'), 'utf8');
    return { 'schema.ts': schema, 'operations.ts': operationsSource(document) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The document without what has no type of its own in the client: headers, and the same error for each status. */
function reduced(document) {
  const paths = mapValues(document.paths, (methods) =>
    mapValues(methods, ({ parameters, responses, requestBody, ...operation }) => ({
      ...operation,
      parameters: parameters?.filter((parameter) => parameter.in !== 'header'),
      ...(requestBody && { requestBody: { ...requestBody, content: jsonOf(requestBody.content) } }),
      responses: { ...Object.fromEntries(Object.entries(responses).filter(isSuccess)), default: ERROR },
    })),
  );
  return { ...document, paths };
}

const isSuccess = ([status]) => status.startsWith('2');
const jsonOf = ({ 'application/json': json }) => ({ 'application/json': json });
const mapValues = (object, map) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));

function operationsSource(document) {
  const operations = operationsOf(document);
  const resources = Object.entries(Object.groupBy(operations, ({ resource }) => resource));
  const imported = [...new Set(operations.flatMap(({ types }) => types))].toSorted();
  const methods = resources.map(([name, ones]) => `  ${name}: {\n${ones.map(methodOf).join('\n')}\n  };`);
  const table = resources.map(([name, ones]) => `  ${name}: {\n${ones.map(rowOf).join('\n')}\n  },`);
  return [
    '// Generated from the OpenAPI document by `npm run docs`. Do not edit.',
    "import type { CallOptions, ConditionalCallOptions } from '../transport.js';",
    "import type { Pages } from '../pages.js';",
    `import type {\n${imported.map((name) => `  ${name},`).join('\n')}\n} from './schema.js';`,
    '',
    '/** All operations of the API: `agents.list` is the operation with this id. */',
    `export interface Operations {\n${methods.join('\n')}\n}`,
    '',
    '/** The method, the path, and how input and response are sent. `call.ts` describes the words. */',
    `export const OPERATIONS = {\n${table.join('\n')}\n} as const;`,
    '',
  ].join('\n');
}

function operationsOf(document) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => describe(document, path, method, operation)),
  );
}

function describe(document, path, method, operation) {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const [resource, verb] = operationId.split('.');
  const type = operationId.replaceAll(/(?:^|\.)(\w)/g, (_, letter) => letter.toUpperCase());
  const of = (place) => parameters.filter((parameter) => parameter.in === place);
  const names = (place) => of(place).map(({ name }) => name);
  const [, success] = Object.entries(responses).find(isSuccess);
  const [mediaType, content] = Object.entries(success.content ?? {})[0] ?? [];
  const kind = kindOf(document, mediaType, content, names('query'));
  const hasBody = requestBody !== undefined;
  const isRequired = requestBody?.required === true || of('query').some(({ required }) => required);
  const input = [
    ...(hasBody ? [`NonNullable<${type}Data['body']>`] : []),
    ...(of('query').length > 0 ? [`NonNullable<${type}Data['query']>`] : []),
  ].join(' & ');
  const returns = {
    nothing: 'Promise<void>',
    text: 'Promise<string>',
    json: `Promise<${type}Response>`,
    pages: `Pages<${type}Response>`,
    stream: `AsyncGenerator<${type}Response, void>`,
  }[kind];
  const words = [
    method.toUpperCase(),
    path,
    ...(hasBody ? ['body'] : []),
    ...(of('query').length === 0 ? [] : hasBody ? [`?${names('query')}`] : ['query']),
    ...(kind === 'json' || kind === 'nothing' ? [] : [kind]),
    ...(operation['x-repeatable'] ? ['repeatable'] : []),
  ];
  return {
    resource,
    verb,
    summary,
    parameters: names('path'),
    input,
    isRequired,
    options: names('header').includes('If-Match') ? 'ConditionalCallOptions' : 'CallOptions',
    returns,
    words: words.join(' '),
    types: [...(input ? [`${type}Data`] : []), ...(returns.includes('Response') ? [`${type}Response`] : [])],
  };
}

function kindOf({ components }, mediaType, content, query) {
  if (mediaType === undefined) return 'nothing';
  if (mediaType === 'text/event-stream') return 'stream';
  if (mediaType !== 'application/json') return 'text';
  const schema = components.schemas[content.schema.$ref?.split('/').at(-1)];
  return query.includes('cursor') && schema?.properties?.nextCursor ? 'pages' : 'json';
}

function methodOf({ verb, summary, parameters, input, isRequired, options, returns }) {
  const list = [
    ...parameters.map((name) => `${name}: string${name === 'revision' ? ' | number' : ''}`),
    ...(input ? [`input${isRequired ? '' : '?'}: ${input}`] : []),
    `options?: ${options}`,
  ];
  return `    /** ${summary}. */\n    ${verb}(${list.join(', ')}): ${returns};`;
}

function rowOf({ verb, words }) {
  return `    ${verb}: '${words}',`;
}
