import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { joinProblems } from '../input/input.problems.js';
import type { ParsedInput } from '../tool.js';
import { schemaProblem } from './schema.limits.js';
import { isOverBudget, withinBudget } from './time.budget.js';

const COMPILE_MS = 1_000;
const VALIDATE_MS = 250;

/** Creates patterns that need linear time. Ajv calls it instead of `new RegExp`, and recognises equal patterns by their text. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
  },
  { code: 'linearRegExp' },
);

const OPTIONS = {
  strict: false,
  validateFormats: false,
  inlineRefs: false,
  logger: false,
  code: { regExp: linearRegExp },
} as const;

/** Checks inputs against a JSON Schema that a third party wrote. */
export class ForeignSchema {
  private constructor(private readonly validate: ValidateFunction) {}

  /** Throws with the reason if the schema is beyond the limits, or cannot be compiled in time. */
  static compile(schema: Readonly<Record<string, unknown>>): ForeignSchema {
    const problem = schemaProblem(schema);
    if (problem !== undefined) throw new Error(problem);
    split(schema); // creates the compiler of the dialect, which must not count for the time limit of this schema
    try {
      return new ForeignSchema(withinBudget(COMPILE_MS, () => compile(schema)));
    } catch (error) {
      if (isOverBudget(error)) throw new Error('it takes too long to compile', { cause: error });
      throw error;
    }
  }

  parse(input: unknown): ParsedInput {
    try {
      const isValid = withinBudget(VALIDATE_MS, () => this.validate(input));
      return isValid ? { ok: true, value: input } : { ok: false, problems: joinProblems(problemsOf(this.validate)) };
    } catch (error) {
      if (isOverBudget(error))
        return { ok: false, problems: 'checking it against the schema of the tool takes too long' };
      throw error;
    }
  }
}

/** Each schema has an instance of its own, so that its identifiers cannot refer to other schemas. */
function compile(schema: Readonly<Record<string, unknown>>): ValidateFunction {
  const { dialect, content } = split(schema);
  const { check, Compiler } = dialect;
  if (check.validateSchema(content) !== true) throw new Error(check.errorsText(check.errors, { dataVar: 'schema' }));
  return new Compiler({ ...OPTIONS, meta: false, validateSchema: false }).compile(content);
}

interface Dialect {
  readonly Compiler: typeof Ajv | typeof Ajv2020;
  /** Checks whether a schema is valid in this dialect. It is shared, because it takes much longer to create than a small schema. */
  readonly check: Ajv | Ajv2020;
}

const dialects = new Map<typeof Ajv | typeof Ajv2020, Dialect>();

function split(schema: Readonly<Record<string, unknown>>): { dialect: Dialect; content: Record<string, unknown> } {
  const { $schema, ...content } = schema;
  return { dialect: dialectOf(/draft-0[467]/.test(String($schema ?? '')) ? Ajv : Ajv2020), content };
}

function dialectOf(Compiler: typeof Ajv | typeof Ajv2020): Dialect {
  const known = dialects.get(Compiler);
  if (known) return known;
  const check = new Compiler(OPTIONS);
  void check.validateSchema({}); // compiles the schema of schemas
  const dialect = { Compiler, check };
  dialects.set(Compiler, dialect);
  return dialect;
}

function problemsOf({ errors }: ValidateFunction): { path: string; message: string }[] {
  return (errors ?? []).map(({ instancePath, message = 'is invalid', params }: ErrorObject) => ({
    path: instancePath.slice(1).replaceAll('/', '.'),
    message: `${message}${detailOf(params)}`,
  }));
}

/** The name of a property that is not allowed, or the allowed values. */
function detailOf(params: Record<string, unknown>): string {
  const detail = params['additionalProperty'] ?? params['allowedValues'];
  return detail === undefined ? '' : ` (${JSON.stringify(detail)})`;
}
