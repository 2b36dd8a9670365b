import type { TestApi } from './api.js';

export interface Schema {
  $ref?: string;
  type?: string;
  example?: unknown;
  default?: unknown;
  description?: string;
  enum?: unknown[];
  nullable?: boolean;
  properties?: Record<string, Schema>;
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
}

interface Content {
  schema: Schema;
  examples?: Record<string, { value: unknown }>;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  description?: string;
  example?: unknown;
  schema: Schema;
}

interface DocumentedOperation {
  operationId: string;
  summary?: string;
  tags?: string[];
  security?: unknown[];
  parameters: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { description: string; content?: Record<string, Content> }>;
}

export interface Operation extends DocumentedOperation {
  method: string;
  path: string;
  /** The success status; each operation has exactly one. */
  success: string;
}

export interface OpenApiDocument {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, DocumentedOperation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: object };
}

export async function documentOf(api: TestApi): Promise<OpenApiDocument> {
  return (await api.call<OpenApiDocument & Record<string, unknown>>('GET', '/openapi.json', { key: null })).body;
}

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const success = Object.keys(operation.responses).find((status) => status.startsWith('2')) ?? '';
      return Object.assign({ method: method.toUpperCase(), path, success }, operation);
    }),
  );
}

export interface PrefilledRequest {
  path: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** Returns the request that the page at /docs pre-fills. `known` replaces examples of path parameters. */
export function prefilled(
  { schemas }: OpenApiDocument['components'],
  { path, parameters, requestBody }: Operation,
  known: Partial<Record<string, string>> = {},
): PrefilledRequest {
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let target = path;
  for (const parameter of parameters) {
    const { name, in: place } = parameter;
    const values = [known[name] ?? valueOf(parameter) ?? []].flat().map(String);
    if (place === 'query') for (const value of values) query.append(name, value);
    if (place === 'header' && values[0] !== undefined) headers[name] = values[0];
    if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(values[0] ?? ''));
  }
  const content = requestBody?.content['application/json'];
  return {
    path: query.size > 0 ? `${target}?${query.toString()}` : target,
    headers,
    ...(content && { body: bodyOf(content, schemas) }),
  };
}

function valueOf({ example, schema }: Parameter): unknown {
  return example ?? schema.example ?? schema.default;
}

function bodyOf({ schema, examples }: Content, schemas: Record<string, Schema>): unknown {
  const [first] = Object.values(examples ?? {});
  return first ? first.value : sampleOf(schema, schemas);
}

/** Returns a sample with every property of an object, as Swagger UI shows it. */
function sampleOf(schema: Schema, schemas: Record<string, Schema>): unknown {
  if (schema.example !== undefined) return schema.example;
  const name = schema.$ref?.split('/').at(-1) ?? schema.allOf?.[0]?.$ref?.split('/').at(-1);
  if (name !== undefined) return sampleOf(schemas[name] ?? {}, schemas);
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.items) return [sampleOf(schema.items, schemas)];
  if (!schema.properties) return schema.type;
  const samples = Object.entries(schema.properties).map(([field, one]) => [field, sampleOf(one, schemas)]);
  return Object.fromEntries(samples) as unknown;
}
