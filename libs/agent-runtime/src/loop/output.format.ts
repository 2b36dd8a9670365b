import { parse as parseJson } from 'secure-json-parse';
import { z } from 'zod';
import { ProviderError } from '#rollcall/providers';
import type { ParsedInput } from '../tools/input/input.reader.js';
import { isStandardSchema, type StandardSchema, standardSchemaInput } from '../tools/input/standard-schema.input.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The format of an answer in JSON. The schema is sent to the model, and `read` checks the answer. */
export interface OutputFormat {
  readonly schema: JsonSchema;
  read(text: string): Promise<ParsedInput>;
}

const MAX_DEPTH = 32;
const MAX_VALUES = 5_000;
const MAX_REASON_CHARS = 300;
const FENCED = /^```(?:json)?\n([^]*)\n```$/;
/** Regular expressions of a schema could block the process, and references could lead to other documents. */
const UNSUPPORTED = new Set(['pattern', 'patternProperties', '$dynamicRef', '$recursiveRef']);

/** Keywords whose value is a map from names to schemas. */
const NAMED_SCHEMAS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

/** Compiles the format once, from a Standard Schema, such as a zod schema, or from a JSON Schema. */
export function outputFormat(source: StandardSchema | JsonSchema): OutputFormat {
  const { inputSchema, parse } = standardSchemaInput(isStandardSchema(source) ? source : fromJsonSchema(source));
  const { $schema: _, ...schema } = isStandardSchema(source) ? inputSchema : source;
  return { schema, read: async (text) => await read(text, parse) };
}

async function read(text: string, parse: (value: unknown) => ParsedInput | Promise<ParsedInput>): Promise<ParsedInput> {
  const json = FENCED.exec(text.trim())?.[1] ?? text;
  let value: unknown;
  try {
    value = parseJson(json, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    return { ok: false, problems: `it is not valid JSON: ${(error as Error).message}` };
  }
  return await parse(value);
}

function fromJsonSchema(schema: JsonSchema): StandardSchema {
  check(schema);
  try {
    return z.fromJSONSchema(schema);
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

/** Definitions come from many users, so a schema must not be able to block the process. */
function check(schema: JsonSchema): void {
  let values = 0;
  const visit = (value: unknown, depth: number, isNamed: boolean): void => {
    values += 1;
    if (depth > MAX_DEPTH) throw invalid(`it is nested more than ${MAX_DEPTH} levels deep`);
    if (values > MAX_VALUES) throw invalid(`it has more than ${MAX_VALUES} values`);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (!isNamed && UNSUPPORTED.has(key)) throw invalid(`${key} is not supported`);
      if (!isNamed && key === '$ref' && !String(member).startsWith('#/')) throw invalid('$ref must start with #/');
      visit(member, depth + 1, !isNamed && NAMED_SCHEMAS.has(key));
    }
  };
  visit(schema, 0, false);
}

function invalid(what: string): ProviderError {
  return new ProviderError(
    'AGENT_SETTINGS_INVALID',
    `The output schema is invalid: ${what.slice(0, MAX_REASON_CHARS).toWellFormed()}.`,
  );
}
