const MAX_DEPTH = 32;
const MAX_SUBSCHEMAS = 500;
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];

/** Returns why a JSON Schema of a third party is not compiled, or undefined. */
export function schemaProblem(schema: Readonly<Record<string, unknown>>): string | undefined {
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
