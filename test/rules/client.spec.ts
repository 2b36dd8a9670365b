import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { clientSources } from '../../bin/client-sources.js';
import { EVENT_EXAMPLES } from '../../apps/api/src/events/events.docs.js';
import { openApiDocument } from '../../apps/api/src/openapi.js';
import { rollcallClient } from '#rollcall/client';
import { type OpenApiDocument, type Operation, operationsOf, type Schema } from '../support/openapi.js';
import { ResponseCheck } from '../support/response-check.js';

const SOURCES = resolve(import.meta.dirname, '../../libs/client/src');

let document: OpenApiDocument;
let operations: Operation[];
let check: ResponseCheck;
beforeAll(async () => {
  document = (await openApiDocument()) as unknown as OpenApiDocument;
  operations = operationsOf(document);
  check = new ResponseCheck(document);
});

/** A client that records the requests instead of sending them. */
function recordingClient(): {
  client: Record<string, Record<string, (...list: unknown[]) => unknown>>;
  sent: string[];
} {
  const sent: string[] = [];
  const client = rollcallClient({
    fetch: async (url, { method }) => {
      sent.push(`${method} ${new URL(url).pathname}`);
      return await Promise.resolve(new Response('{"items":[],"nextCursor":null}'));
    },
  });
  return { client: client as never, sent };
}

/** Reads the first part of any result: a promise, a list, or a stream. */
async function touch(result: unknown): Promise<void> {
  if (result instanceof Promise) await result;
  else for await (const _ of result as AsyncIterable<unknown>) return;
}

function valuesOf(schema: Schema | undefined): unknown[] {
  return Object.values(schema ?? {});
}

/** All schemas of the document, at any depth. */
function schemasIn(node: unknown): Schema[] {
  if (typeof node !== 'object' || node === null) return [];
  return [node, ...valuesOf(node as Schema).flatMap(schemasIn)];
}

describe('the generated part of the client', () => {
  it('N-5 equals what the OpenAPI document gives (update: npm run docs)', async () => {
    const sources = await clientSources(document);
    for (const [name, text] of Object.entries(sources))
      expect([name, readFileSync(join(SOURCES, 'generated', name), 'utf8') === text]).toEqual([name, true]);
  });

  it('N-5 every operation of the document has its method, which sends the request of this operation', async () => {
    for (const { operationId, method, path, parameters } of operations) {
      const { client, sent } = recordingClient();
      const [resource = '', verb = ''] = operationId.split('.');
      const call = client[resource]?.[verb];
      const ids = parameters.filter((parameter) => parameter.in === 'path').map(() => 'a/b');
      await touch(call?.(...ids, {}));
      expect({ operationId, sent }).toEqual({
        operationId,
        sent: [`${method} ${path.replaceAll(/\{\w+\}/g, 'a%2Fb')}`],
      });
    }
  });

  it('no field of a body has the name of a query parameter, because both are fields of one input', () => {
    for (const { operationId, parameters, requestBody } of operations) {
      const name = requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? '';
      const fields = Object.keys(document.components.schemas[name]?.properties ?? {});
      const both = parameters.filter((parameter) => parameter.in === 'query' && fields.includes(parameter.name));
      expect({ operationId, both }).toEqual({ operationId, both: [] });
    }
  });

  it('imports no module of Node, which browsers do not have', () => {
    const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(8);
    const code = files.map((file) => readFileSync(join(SOURCES, file), 'utf8'));
    const imported = code.flatMap((text) =>
      [...text.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, name]) => name),
    );
    expect(imported.filter((name) => !name?.startsWith('.'))).toEqual([]);
  });
});

describe('the types of the OpenAPI document', () => {
  it('N-5 every nullable enum lists null', () => {
    const nullable = schemasIn(document.components.schemas).filter((one) => one.nullable === true && one.enum);
    expect(nullable.length).toBeGreaterThan(3);
    expect(nullable.filter((one) => one.enum?.includes(null) !== true)).toEqual([]);
  });

  it.each(Object.keys(EVENT_EXAMPLES))('N-5 the schema of the event %s accepts exactly its data', (type) => {
    const event = {
      specversion: '1.0',
      id: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11',
      source: 'urn:rollcall:registry',
      type: `dev.rollcall.${type}`,
      subject: 'a',
      namespace: 'default',
      time: '2026-02-24T10:30:00.000Z',
      datacontenttype: 'application/json',
      sequence: '000000000000001',
      data: EVENT_EXAMPLES[type],
    };
    const page = operations.find(({ operationId }) => operationId === 'events.page') as Operation;
    const errorsOf = (one: object): string[] => check.errorsOf(page, { items: [one], next: '1', head: '1' });
    expect(errorsOf(event)).toEqual([]);
    expect(errorsOf({ ...event, data: { ...event.data, colour: 'red' } })).not.toEqual([]);
  });
});
