import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startApi, type TestApi } from '../support/api.js';
import { documentOf, type OpenApiDocument, operationsOf, type Schema } from '../support/openapi.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** Keeps the linter from sending requests. */
const OFFLINE = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
const PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };

let api: TestApi;
let document: OpenApiDocument;

beforeAll(async () => {
  api = await startApi();
  document = await documentOf(api);
});
afterAll(async () => await api.stop());

/** Every property of every schema, as `Schema.property`. */
function properties(): [name: string, property: Schema][] {
  return Object.entries(document.components.schemas).flatMap(([name, schema]) =>
    Object.entries(schema.properties ?? {}).map(([field, property]): [string, Schema] => [
      `${name}.${field}`,
      property,
    ]),
  );
}

/** Whether a schema refers to other schemas, whose properties have the examples. */
function isComposed({ $ref, allOf, oneOf, items }: Schema): boolean {
  if (items) return isComposed(items);
  return $ref !== undefined || allOf !== undefined || oneOf?.every((one) => one.$ref !== undefined) === true;
}

describe('the OpenAPI document', () => {
  it('gives each operation a unique id that consists of a resource and a verb', () => {
    const ids = operationsOf(document).map(({ operationId }) => operationId);
    expect(ids.filter((id) => !/^[a-z]+\.[a-z][A-Za-z]*$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('every operation has a typed success response', () => {
    const untyped = operationsOf(document).filter(({ success, responses }) => {
      const contents = Object.values(responses[success]?.content ?? {});
      return success !== '204' && !contents.some(({ schema }) => schema.$ref ?? schema.type === 'string');
    });
    expect(untyped.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('refers to one Problem schema in each error response', () => {
    for (const { operationId, responses } of operationsOf(document)) {
      const errors = Object.entries(responses).filter(([status]) => !status.startsWith('2'));
      expect(errors.map(([status]) => status)).toEqual(expect.arrayContaining(['4XX', '5XX']));
      for (const [status, { content }] of errors) {
        expect({ operationId, status, content }).toMatchObject({ operationId, status, content: PROBLEM });
        expect(Object.keys(content ?? {})).toEqual(Object.keys(PROBLEM));
      }
    }
  });

  it('names the permission of each operation that needs one', () => {
    for (const { operationId, security, responses } of operationsOf(document)) {
      const named = /`FORBIDDEN`: The credential lacks the permission `\w+:\w+`\./.test(
        responses['403']?.description ?? '',
      );
      expect({ operationId, named }).toEqual({ operationId, named: security !== undefined });
    }
  });

  it('describes each property, and gives an example of each value', () => {
    const bare = properties().filter(([, { description }]) => !description);
    expect(bare.map(([name]) => name)).toEqual([]);
    const values = properties().filter(([, property]) => !isComposed(property));
    const without = values.filter(([, property]) => !('example' in property) && !property.enum);
    expect(without.map(([name]) => name)).toEqual([]);
  });

  it('the document does not pre-fill headers, which are different for each request', () => {
    const headers = operationsOf(document).flatMap(({ parameters }) => parameters.filter((one) => one.in === 'header'));
    expect(headers.filter((header) => 'example' in header || 'example' in header.schema)).toEqual([]);
  });

  it('passes the linter of Redocly', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-openapi-'));
    const file = join(folder, 'openapi.json');
    writeFileSync(file, JSON.stringify(document));
    const redocly = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
    const flags = ['lint', file, '--config', join(ROOT, 'redocly.yaml'), '--format', 'json'];
    const env = { ...OFFLINE, PATH: process.env['PATH'] ?? '' };
    const { stdout } = await promisify(execFile)(process.execPath, [redocly, ...flags], { env }).catch(
      (error: unknown) => error as { stdout: string },
    );
    rmSync(folder, { recursive: true });
    const { problems } = JSON.parse(stdout) as { problems: { ruleId: string; message: string }[] };
    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });
});
