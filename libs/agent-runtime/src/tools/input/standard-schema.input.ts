import type { ParsedInput } from '../tool.js';
import { joinProblems } from './input.problems.js';
import type { InputReader } from './input.reader.js';
import type { StandardIssue, StandardResult, StandardSchema } from './standard.schema.js';

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
