import { ToolInvalidError } from '../tool.errors.js';
import { type DtoClass, dtoInput } from './dto.input.js';
import type { InputReader, ParsedInput } from './input.reader.js';
import { isStandardSchema, type StandardSchema, standardSchemaInput } from './standard-schema.input.js';

/** A JSON Schema with a function that checks inputs. */
interface JsonSchemaInput {
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  parse(input: unknown): ParsedInput | Promise<ParsedInput>;
}

/** How the input of a tool is described and checked. */
export type ToolInput = StandardSchema | DtoClass | JsonSchemaInput;

/** The type that `execute` receives. */
export type InputOf<Source> =
  Source extends StandardSchema<infer Output> ? Output : Source extends DtoClass<infer Dto> ? Dto : unknown;

/** Compiles the input of a tool once. Throws TOOL_INVALID if it cannot be described to a model. */
export function readerOf(tool: string, source: ToolInput | undefined): InputReader {
  try {
    const { inputSchema, parse } = source === undefined ? NO_INPUT : compile(source);
    const { $schema: _, ...schema } = inputSchema;
    if (schema['type'] !== 'object') throw new Error('a model sends an object, so the schema must describe an object');
    return { inputSchema: Object.freeze(schema), parse };
  } catch (error) {
    throw new ToolInvalidError(`The input of the tool ${tool} is invalid: ${(error as Error).message}.`);
  }
}

function compile(source: ToolInput): InputReader {
  if (isStandardSchema(source)) return standardSchemaInput(source);
  if (typeof source === 'function') return dtoInput(source);
  return { inputSchema: source.jsonSchema, parse: (input) => source.parse(input) };
}

/** Models send `{}`, and sometimes null, to a tool without input. */
const NO_INPUT: InputReader = {
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  parse: () => ({ ok: true, value: {} }),
};
