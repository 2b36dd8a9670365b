import { parse as parseJson } from 'secure-json-parse';
import { ProviderError } from '#rollcall/providers';
import { UntrustedSchema, UntrustedSchemaError } from '../schemas/untrusted.schema.js';
import type { ParsedInput } from '../tools/input/input.reader.js';
import { isStandardSchema, type StandardSchema, standardSchemaInput } from '../tools/input/standard-schema.input.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The format of an answer in JSON. The schema is sent to the model, and `read` checks the answer. */
export interface OutputFormat {
  readonly schema: JsonSchema;
  /** Throws AGENT_SETTINGS_INVALID if the schema cannot be compiled. */
  check(): Promise<void>;
  /** Throws SCHEMA_CHECK_TIMED_OUT if the schema is too expensive for this answer. */
  read(text: string): Promise<ParsedInput>;
}

const MAX_REASON_CHARS = 300;
const FENCED = /^```(?:json)?\n([^]*)\n```$/;

/**
 * The format of a Standard Schema, such as a zod schema, which is part of the code, or of a JSON Schema, which a user wrote. Throws
 * AGENT_SETTINGS_INVALID if a JSON Schema is beyond the limits. `namespace` is the namespace of the agent.
 */
export function outputFormat(source: StandardSchema | JsonSchema, namespace: string): OutputFormat {
  if (isStandardSchema(source)) {
    const { inputSchema, parse } = standardSchemaInput(source);
    const { $schema: _, ...schema } = inputSchema;
    return { schema, check: async () => await Promise.resolve(), read: async (text) => await read(text, parse) };
  }
  const { $schema: _, ...schema } = source;
  try {
    const untrusted = UntrustedSchema.of(source, { what: 'the answer', group: namespace, checksFormats: true });
    return {
      schema,
      check: async () => await explained(untrusted.compile()),
      read: async (text) => await explained(read(text, async (value) => await untrusted.parse(value))),
    };
  } catch (error) {
    throw settingsError(error);
  }
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

async function explained<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw settingsError(error);
  }
}

function settingsError(error: unknown): unknown {
  if (!(error instanceof UntrustedSchemaError)) return error;
  const reason = error.message.slice(0, MAX_REASON_CHARS).toWellFormed();
  return new ProviderError('AGENT_SETTINGS_INVALID', `The output schema is invalid: ${reason}.`);
}
