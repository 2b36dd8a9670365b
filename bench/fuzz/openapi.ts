export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  enum?: unknown[];
  example?: unknown;
  default?: unknown;
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  schema?: Schema;
}

interface DocumentedOperation {
  parameters?: Parameter[];
  requestBody?: { content?: Record<string, { schema?: Schema; examples?: Record<string, { value: unknown }> }> };
  responses?: Record<string, { content?: Record<string, unknown> }>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, DocumentedOperation>>;
  components?: { schemas?: Record<string, Schema> };
}

/** One method on one path. The references (`$ref`) in its schemas are resolved to a limited depth. */
export interface Operation {
  /** For example `POST /v1/agents/{id}/drain`. */
  id: string;
  method: string;
  path: string;
  query: Parameter[];
  headers: Parameter[];
  body?: Schema;
  /** Valid bodies: the examples of the document. Those of a protocol are the only description of its bodies. */
  bodies?: readonly unknown[];
  fixedHeaders?: readonly [name: string, value: string][];
  /** The response is a stream of server-sent events, which may stay open. */
  streams: boolean;
  /** An operation of A2A, MCP or a catalog: its errors have the format of the protocol. */
  isProtocol?: boolean;
}

const METHODS = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options']);
const MAX_DEPTH = 12;
/** Paths that are served but are not part of the API. */
const UNDOCUMENTED = ['/', '/docs', '/docs/{file}', '/openapi.json', '/favicon.ico', '/v1'];

/** All documented operations, so that a new route is fuzzed without a change here. */
export function readOperations(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.has(method))
      .map(([method, documented]) => toOperation(document, path, method.toUpperCase(), documented)),
  );
}

export function undocumentedOperations(document: OpenApiDocument): Operation[] {
  return UNDOCUMENTED.map((path) => toOperation(document, path, 'GET', {}));
}

function toOperation(
  document: OpenApiDocument,
  path: string,
  method: string,
  { parameters = [], requestBody, responses = {} }: DocumentedOperation,
): Operation {
  const all = parameters.map((parameter) => ({ ...parameter, schema: resolve(document, parameter.schema ?? {}) }));
  const { schema: body, examples = {} } = Object.values(requestBody?.content ?? {})[0] ?? {};
  const bodies = Object.values(examples).map(({ value }) => value);
  return {
    id: `${method} ${path}`,
    method,
    path,
    query: all.filter((parameter) => parameter.in === 'query'),
    headers: all.filter((parameter) => parameter.in === 'header'),
    ...(body && { body: resolve(document, body) }),
    ...(bodies.length > 0 && { bodies }),
    streams: Object.values(responses).some(({ content }) => content?.['text/event-stream'] !== undefined),
  };
}

function resolve(document: OpenApiDocument, schema: Schema, depth = 0): Schema {
  if (depth > MAX_DEPTH) return {};
  const inner = (one: Schema): Schema => resolve(document, one, depth + 1);
  if (schema.$ref !== undefined) {
    return inner(document.components?.schemas?.[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  }
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(inner), { ...schema, allOf: undefined }) as Schema;
  const properties = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, inner(one)] as const);
  return {
    ...schema,
    ...(schema.properties && { properties: Object.fromEntries(properties) }),
    ...(schema.items && { items: inner(schema.items) }),
    ...(schema.oneOf && { oneOf: schema.oneOf.map(inner) }),
  };
}
