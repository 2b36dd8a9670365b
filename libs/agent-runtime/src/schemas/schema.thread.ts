/**
 * The program of the threads that `SchemaThreads` starts. It compiles JSON Schemas of third parties and checks values against them. It
 * imports packages only, so that a thread starts quickly, and Node can also run this file before it is compiled.
 */
import { parentPort } from 'node:worker_threads';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { z } from 'zod';

/** What a thread does: compile a schema, and check a value if there is one. */
export interface SchemaJob {
  readonly schema: Readonly<Record<string, unknown>>;
  /** Identifies the schema and `checksFormats`. */
  readonly key: string;
  /** Whether `format` is checked. If not, it is an annotation. */
  readonly checksFormats: boolean;
  /** Absent if the schema is only compiled. */
  readonly check?: { readonly value: unknown };
}

/** `invalid` contains why the schema cannot be compiled; `problems` is empty if the value matches. */
export type SchemaReply =
  { readonly invalid: string } | { readonly problems: readonly { path: string; message: string }[] };

const MAX_KEPT = 200;
const MAX_PROBLEMS = 100;
const MAX_DETAIL_CHARS = 300;

/** Creates patterns that need linear time. Ajv calls it instead of `new RegExp`, and recognises equal patterns by their text. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return { test: (text: string) => compiled.matcher(text).find(), toString: () => pattern };
  },
  { code: 'linearRegExp' },
);

/** The formats that are checked. Other formats are annotations. */
const FORMATS = Object.fromEntries(
  Object.entries({
    date: z.iso.date(),
    time: z.iso.time(),
    'date-time': z.iso.datetime({ offset: true }),
    duration: z.iso.duration(),
    email: z.email(),
    uuid: z.guid(),
    uri: z.url(),
    ipv4: z.ipv4(),
    ipv6: z.ipv6(),
  }).map(([name, format]) => [name, (text: string) => format.safeParse(text).success]),
);

const OPTIONS = {
  strict: false,
  inlineRefs: false,
  logger: false,
  code: { regExp: linearRegExp },
} as const;

interface Dialect {
  readonly Compiler: typeof Ajv | typeof Ajv2020;
  /** Checks whether a schema is valid in this dialect. It is shared, because it takes much longer to create than a small schema. */
  readonly check: Ajv | Ajv2020;
}

function dialectOf(Compiler: typeof Ajv | typeof Ajv2020): Dialect {
  const check = new Compiler({ ...OPTIONS, validateFormats: false });
  void check.validateSchema({}); // compiles the schema of schemas
  return { Compiler, check };
}

const DRAFT_7 = dialectOf(Ajv);
const DRAFT_2020 = dialectOf(Ajv2020);
const compiled = new Map<string, ValidateFunction>();

function run({ check, ...job }: SchemaJob): SchemaReply {
  let validate: ValidateFunction;
  try {
    validate = validatorOf(job);
  } catch (error) {
    return { invalid: isStackFull(error) ? 'its references form a circle' : (error as Error).message };
  }
  if (!check) return { problems: [] };
  try {
    return { problems: validate(check.value) ? [] : problemsOf(validate) };
  } catch (error) {
    if (!isStackFull(error)) throw error;
    return { problems: [{ path: '', message: 'it is nested too deep for the schema' }] };
  }
}

function isStackFull(error: unknown): boolean {
  return error instanceof RangeError;
}

function validatorOf(job: Omit<SchemaJob, 'check'>): ValidateFunction {
  const known = compiled.get(job.key);
  const validate = known ?? compile(job);
  compiled.delete(job.key);
  compiled.set(job.key, validate); // the last one is the one that was used last
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_KEPT && oldest !== undefined) compiled.delete(oldest);
  return validate;
}

/** Each schema has a compiler of its own, so that its identifiers cannot refer to other schemas. */
function compile({ schema, checksFormats }: Omit<SchemaJob, 'check'>): ValidateFunction {
  const { $schema, ...content } = schema;
  const { Compiler, check } = /draft-0[467]/.test(String($schema ?? '')) ? DRAFT_7 : DRAFT_2020;
  if (check.validateSchema(content) !== true) throw new Error(check.errorsText(check.errors, { dataVar: 'schema' }));
  const formats = checksFormats ? { formats: FORMATS } : { validateFormats: false };
  return new Compiler({ ...OPTIONS, ...formats, meta: false, validateSchema: false }).compile(content);
}

function problemsOf({ errors }: ValidateFunction): { path: string; message: string }[] {
  return (errors ?? []).slice(0, MAX_PROBLEMS).map(({ instancePath, message = 'is invalid', params }: ErrorObject) => ({
    path: instancePath.slice(1).replaceAll('/', '.').slice(0, MAX_DETAIL_CHARS),
    message: `${message}${detailOf(params)}`.slice(0, MAX_DETAIL_CHARS),
  }));
}

/** The name of a property that is not allowed, or the allowed values. */
function detailOf(params: Record<string, unknown>): string {
  const detail = params['additionalProperty'] ?? params['allowedValues'];
  return detail === undefined ? '' : ` (${JSON.stringify(detail)})`;
}

parentPort?.on('message', (job: SchemaJob) => parentPort?.postMessage(run(job), []));
parentPort?.postMessage('ready', []);
