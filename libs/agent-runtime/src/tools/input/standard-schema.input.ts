import { type InputReader, joinProblems, type ParsedInput } from './input.reader.js';

/**
 * The part of the Standard Schema and Standard JSON Schema interfaces that tools use (https://standardschema.dev). Zod, Valibot,
 * ArkType and others implement them.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Absent if the library cannot describe its schemas. */
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> };
  };
}

type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;
}

/** Reads inputs with a schema of any library that implements Standard Schema and can describe its schemas as JSON Schema. */
export function standardSchemaInput(schema: StandardSchema): InputReader {
  const standard = schema['~standard'];
  if (!standard.jsonSchema)
    throw new Error(`the schema library ${standard.vendor} offers no JSON Schema; use { jsonSchema, parse } instead`);
  return {
    inputSchema: standard.jsonSchema.input({ target: 'draft-2020-12' }),
    parse(input) {
      const result = standard.validate(input);
      return result instanceof Promise ? result.then(toParsed) : toParsed(result);
    },
  };
}

function toParsed(result: StandardResult<unknown>): ParsedInput {
  if (!result.issues) return { ok: true, value: result.value };
  const problems = result.issues.map((issue) => ({ path: pathOf(issue), message: issue.message }));
  return { ok: false, problems: joinProblems(problems) };
}

function pathOf({ path = [] }: StandardIssue): string {
  return path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
}
