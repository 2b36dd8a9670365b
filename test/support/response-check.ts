import { Ajv, type ValidateFunction } from 'ajv';
import type { OpenApiDocument, Operation } from './openapi.js';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Compares response bodies with the schemas of the document. A property that the document does not contain is an error. */
export class ResponseCheck {
  private readonly ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });

  constructor(document: OpenApiDocument) {
    this.ajv.addSchema(toJsonSchema(document as unknown as Json) as object, 'document');
  }

  /** Returns the differences between the body of a successful response and its schema. */
  errorsOf({ responses, success }: Operation, body: unknown): string[] {
    const content = responses[success]?.content?.['application/json'];
    if (!content) return [];
    const validate: ValidateFunction = this.ajv.compile({ $ref: `document${content.schema.$ref ?? ''}` });
    validate(body);
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  }
}

/** Converts OpenAPI 3.0 to JSON Schema: `nullable` becomes a union, and an object with declared properties allows no other properties. */
function toJsonSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map(toJsonSchema);
  if (typeof node !== 'object' || node === null) return node;
  const { nullable, example: _, examples: __, ...rest } = node;
  const entries = Object.entries(rest).map(([name, value]) => [name, toJsonSchema(value)] as const);
  const schema: Json = Object.fromEntries(entries);
  if (schema['type'] === 'object' && schema['properties']) schema['additionalProperties'] ??= false;
  return nullable === true ? { anyOf: [{ type: 'null' }, schema] } : schema;
}
