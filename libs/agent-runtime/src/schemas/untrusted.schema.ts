import { RuntimeError } from '../errors.js';
import { inputHashOf } from '../tools/input.hash.js';
import { joinProblems, type ParsedInput } from '../tools/input/input.reader.js';
import { jsonProblem } from '../tools/json.check.js';
import { SchemaBudgetError, SchemaThreads } from './schema.threads.js';

/** A JSON Schema that cannot be used. The message is the reason, as the end of the sentence "the schema cannot be used: …". */
export class UntrustedSchemaError extends Error {
  override readonly name = 'UntrustedSchemaError';
}

/** Checking one value exceeded the budget. It ends the run: a repetition would exceed it again. */
export class SchemaCheckTimedOutError extends RuntimeError {
  readonly code = 'SCHEMA_CHECK_TIMED_OUT';

  constructor(what: string) {
    super(
      `Checking ${what} against its schema takes too much time or memory. Simplify the schema: use fewer references, alternatives and patterns.`,
    );
  }
}

interface SchemaOwner {
  /** What is checked, such as `the answer`, for the error. */
  readonly what: string;
  /** A group, such as a namespace or an MCP server, waits only for its own expensive schemas. */
  readonly group: string;
  /** Whether `format` is checked. If not, it is an annotation. */
  readonly checksFormats?: boolean;
}

const MAX_VALUE_BYTES = 1 << 20;
const threads = new SchemaThreads();

/**
 * A JSON Schema that a user or a third party wrote. Everything that evaluates such a schema uses this class (S-2). The size of the
 * schema and of what its references expand to is limited before it is compiled. It is compiled, and values are checked, in a thread,
 * with a budget of time and memory. Patterns are checked in linear time.
 */
export class UntrustedSchema {
  private readonly key: string;

  private constructor(
    private readonly schema: Readonly<Record<string, unknown>>,
    private readonly owner: Required<SchemaOwner>,
  ) {
    this.key = `${inputHashOf(schema)} ${owner.checksFormats}`;
  }

  /** Throws UntrustedSchemaError if the schema is beyond the limits. It takes a short time, whatever the schema contains. */
  static of(schema: Readonly<Record<string, unknown>>, owner: SchemaOwner): UntrustedSchema {
    const problem = new SchemaLimits(schema).problem();
    if (problem !== undefined) throw new UntrustedSchemaError(problem);
    return new UntrustedSchema(schema, { checksFormats: false, ...owner });
  }

  /** Throws UntrustedSchemaError if the schema is not valid, or takes too long to compile. */
  async compile(): Promise<void> {
    try {
      const reply = await this.run();
      if ('invalid' in reply) throw new UntrustedSchemaError(reply.invalid);
    } catch (error) {
      if (error instanceof SchemaBudgetError)
        throw new UntrustedSchemaError(`${error.message} to compile`, { cause: error });
      throw error;
    }
  }

  /** Throws SCHEMA_CHECK_TIMED_OUT if the check exceeds the budget. */
  async parse(value: unknown): Promise<ParsedInput> {
    const problem = jsonProblem(value, { maxBytes: MAX_VALUE_BYTES, rejectsReservedNames: false });
    if (problem !== undefined) return { ok: false, problems: `it ${problem}` };
    try {
      const reply = await this.run({ value });
      if ('invalid' in reply) throw new UntrustedSchemaError(reply.invalid);
      return reply.problems.length === 0 ? { ok: true, value } : { ok: false, problems: joinProblems(reply.problems) };
    } catch (error) {
      if (error instanceof SchemaBudgetError) throw new SchemaCheckTimedOutError(this.owner.what);
      throw error;
    }
  }

  private async run(check?: { value: unknown }): ReturnType<SchemaThreads['run']> {
    const { key, schema } = this;
    const { group, checksFormats } = this.owner;
    return await threads.run({ key, schema, checksFormats, ...(check && { check }) }, group);
  }
}

const MAX_BYTES = 65_536;
const MAX_DEPTH = 32;
const MAX_SUBSCHEMAS = 500;
const MAX_VALUES = 5_000;
const MAX_EXPANDED = 10_000;
const MAX_PATTERN_CHARS = 1_000;
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'] as const;

type Node = Readonly<Record<string, unknown>>;

/**
 * Counts a schema. Every object counts as a subschema, because only a validator of the dialect can distinguish subschemas from other
 * objects.
 */
class SchemaLimits {
  private values = 0;
  private subschemas = 0;
  private readonly anchors = new Map<string, Node>();
  /** The number of subschemas that a subschema expands to when its references are followed; undefined while it is being counted. */
  private readonly expanded = new Map<object, number | undefined>();

  constructor(private readonly root: Node) {}

  problem(): string | undefined {
    const problem =
      this.problemIn(this.root, 0) ?? jsonProblem(this.root, { maxBytes: MAX_BYTES, rejectsReservedNames: true });
    if (problem !== undefined) return problem.startsWith('it ') ? problem : `it ${problem}`;
    if (this.expansionOf(this.root) <= MAX_EXPANDED) return undefined;
    return `its references expand to more than ${MAX_EXPANDED} subschemas`;
  }

  private problemIn(value: unknown, depth: number): string | undefined {
    this.values += 1;
    if (this.values > MAX_VALUES) return `it has more than ${MAX_VALUES} values`;
    if (typeof value !== 'object' || value === null) return undefined;
    if (depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
    if (!Array.isArray(value)) this.subschemas += 1;
    if (this.subschemas > MAX_SUBSCHEMAS) return `it has more than ${MAX_SUBSCHEMAS} subschemas`;
    return this.problemOfKeywords(value as Node) ?? this.problemInMembers(value, depth);
  }

  private problemInMembers(value: object, depth: number): string | undefined {
    for (const member of Object.values(value) as unknown[]) {
      const problem = this.problemIn(member, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  /** `$async` is an extension of Ajv: the check would return a promise, and its rejection would end the process. */
  private problemOfKeywords(schema: Node): string | undefined {
    if ('$async' in schema) return 'it is asynchronous';
    const { pattern, patternProperties } = schema;
    const patterns = [pattern, ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])];
    if (patterns.some((one) => typeof one === 'string' && one.length > MAX_PATTERN_CHARS))
      return `it has a pattern of more than ${MAX_PATTERN_CHARS} characters`;
    for (const name of ['$anchor', '$dynamicAnchor']) {
      const anchor = schema[name];
      if (typeof anchor === 'string') this.anchors.set(`#${anchor}`, schema);
    }
    const targets = REFERENCES.map((name) => schema[name]);
    if (targets.some((target) => typeof target === 'string' && !target.startsWith('#')))
      return 'it refers to another document';
    return undefined;
  }

  /** A reference back to a subschema that contains it counts once: how often it is followed depends on the value. */
  private expansionOf(value: object): number {
    if (this.expanded.has(value)) return this.expanded.get(value) ?? 1;
    this.expanded.set(value, undefined);
    let count = Array.isArray(value) ? 0 : 1;
    for (const part of [...(Object.values(value) as unknown[]), ...this.targetsOf(value as Node)])
      if (typeof part === 'object' && part !== null)
        count = Math.min(count + this.expansionOf(part), Number.MAX_SAFE_INTEGER);
    this.expanded.set(value, count);
    return count;
  }

  private targetsOf(schema: Node): (object | undefined)[] {
    return REFERENCES.map((name) => schema[name]).map((target) =>
      typeof target === 'string' ? this.targetOf(target) : undefined,
    );
  }

  /** Returns undefined for a reference to nothing, which the compiler reports. */
  private targetOf(reference: string): object | undefined {
    if (reference === '#') return this.root;
    const anchored = this.anchors.get(reference);
    if (anchored || !reference.startsWith('#/')) return anchored;
    let target: unknown = this.root;
    for (const step of reference.slice(2).split('/'))
      target = isObject(target) ? (target as Node)[unescaped(step)] : undefined;
    return isObject(target) ? target : undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Reads one step of a JSON pointer in a fragment of a URI. */
function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step; // a wrong escape refers to nothing
  }
}
