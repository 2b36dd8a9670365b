import { createContext, Script } from 'node:vm';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { joinProblems, type ParsedInput } from '../input/input.reader.js';

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
export class UntrustedSchema {
  private constructor(private readonly validate: ValidateFunction) {}

  /** Throws with the reason if the schema is beyond the limits, or cannot be compiled in time. */
  static compile(schema: Readonly<Record<string, unknown>>): UntrustedSchema {
    const problem = schemaProblem(schema);
    if (problem !== undefined) throw new Error(problem);
    split(schema); // creates the compiler of the dialect, which must not count for the time limit of this schema
    try {
      return new UntrustedSchema(withinTime(COMPILE_MS, () => compile(schema)));
    } catch (error) {
      if (isTimeout(error)) throw new Error('it takes too long to compile', { cause: error });
      throw error;
    }
  }

  parse(input: unknown): ParsedInput {
    try {
      const isValid = withinTime(VALIDATE_MS, () => this.validate(input));
      return isValid ? { ok: true, value: input } : { ok: false, problems: joinProblems(problemsOf(this.validate)) };
    } catch (error) {
      if (isTimeout(error)) return { ok: false, problems: 'checking it against the schema of the tool takes too long' };
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

const MAX_DEPTH = 32;
const MAX_SUBSCHEMAS = 500;
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];

/** Returns why a JSON Schema of a third party is not compiled, or undefined. */
function schemaProblem(schema: Readonly<Record<string, unknown>>): string | undefined {
  if (schema['type'] !== 'object') return 'it does not describe an object';
  return new LimitCheck().problemIn(schema, 0);
}

/** Every object counts as a subschema, because only a validator of the dialect can distinguish subschemas from other objects. */
class LimitCheck {
  private count = 0;

  problemIn(value: unknown, depth: number): string | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    if (depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
    if (!Array.isArray(value)) this.count += 1;
    if (this.count > MAX_SUBSCHEMAS) return `it has more than ${MAX_SUBSCHEMAS} subschemas`;
    return problemOfReference(value) ?? this.problemInMembers(Object.values(value), depth);
  }

  private problemInMembers(members: readonly unknown[], depth: number): string | undefined {
    for (const member of members) {
      const problem = this.problemIn(member, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}

/** `$async` is an extension of Ajv: the check would return a promise, and its rejection would end the process. */
function problemOfReference(schema: object): string | undefined {
  if ('$async' in schema) return 'it is asynchronous';
  for (const name of REFERENCES) {
    const target = (schema as Record<string, unknown>)[name];
    if (typeof target === 'string' && !target.startsWith('#')) return 'it refers to another document';
  }
  return undefined;
}

const context = createContext({});
const script = new Script('work()');

/** Runs synchronous code. After this time, stops it and throws an error with the code ERR_SCRIPT_EXECUTION_TIMEOUT. */
function withinTime<Result>(ms: number, work: () => Result): Result {
  const before = context['work'] as unknown;
  context['work'] = work;
  try {
    return script.runInContext(context, { timeout: ms }) as Result;
  } finally {
    context['work'] = before;
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
