/** A JSON Schema that is written to block or to exhaust the process that evaluates it. */
export interface HostileSchema {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** A value that makes the check expensive. */
  readonly value: object;
  /** Whether the door rejects the schema. Otherwise the budget bounds the check of the value, or the check is cheap. */
  readonly isRejected: boolean;
}

const object = (more: object): Record<string, unknown> => ({ type: 'object', ...more });

function range<Value>(count: number, valueOf: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => valueOf(index));
}

/** Each level refers to the next one twice, below the keyword. */
function branching(levels: number, keyword: string): Record<string, unknown> {
  const levelOf = (level: number): object => {
    const next = { $ref: `#/$defs/d${level + 1}` };
    return level === levels - 1 ? { required: ['x'] } : { [keyword]: [next, { ...next }] };
  };
  const $defs = Object.fromEntries(range(levels, (level) => [`d${level}`, levelOf(level)]));
  return object({ $defs, $ref: '#/$defs/d0' });
}

function nested(levels: number, wrap: (inner: object) => object, innermost: object = { required: ['x'] }): object {
  return Array.from({ length: levels }).reduce<object>((inner) => wrap(inner), innermost);
}

/** Every level of the value is checked several times against the whole schema, so the work doubles with each level. */
function recursive(wrap: (again: object) => object): Record<string, unknown> {
  const again = { type: 'object', properties: { a: { $ref: '#/$defs/node' } }, minProperties: 1 };
  return object({ $defs: { node: wrap(again) }, $ref: '#/$defs/node' });
}

const DEEP = nested(60, (a) => ({ a }), {});
const LONG = 'a'.repeat(100_000);

/** Hostile schemas of all kinds that are known from attacks on validators, as inputs of tools and as formats of answers. */
export const HOSTILE_SCHEMAS: readonly HostileSchema[] = [
  ...['allOf', 'anyOf', 'oneOf'].map((keyword) => ({
    name: `references that branch 25 levels deep below ${keyword}`,
    schema: branching(25, keyword),
    value: {},
    isRejected: true,
  })),
  { name: 'a reference to itself', schema: object({ $ref: '#' }), value: {}, isRejected: false },
  {
    name: 'references in a circle',
    schema: object({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }),
    value: {},
    isRejected: true,
  },
  ...['anyOf', 'oneOf', 'allOf'].map((keyword) => ({
    name: `recursion that branches below ${keyword}`,
    schema: recursive((again) => ({
      [keyword]: [again, { ...again, maxProperties: 8 }, { ...again, maxProperties: 9 }],
    })),
    value: DEEP,
    isRejected: false,
  })),
  {
    name: 'recursion that branches below not, if and dependentSchemas',
    schema: recursive((again) => ({
      not: again,
      if: { ...again },
      else: again,
      dependentSchemas: { a: { not: again } },
    })),
    value: DEEP,
    isRejected: false,
  },
  {
    name: 'recursion that branches below unevaluatedProperties',
    schema: recursive((again) => ({ anyOf: [again, { ...again }], unevaluatedProperties: again })),
    value: DEEP,
    isRejected: false,
  },
  {
    name: 'a dynamic reference to itself that branches',
    schema: object({
      $dynamicAnchor: 'node',
      anyOf: [
        { properties: { a: { $dynamicRef: '#node' } }, minProperties: 1 },
        { properties: { a: { $dynamicRef: '#node' } }, minProperties: 1, maxProperties: 9 },
      ],
    }),
    value: DEEP,
    isRejected: false,
  },
  {
    name: 'an enum of 6,000 values',
    schema: object({ properties: { a: { enum: range(6_000, (index) => index) } } }),
    value: { a: 7_000 },
    isRejected: true,
  },
  {
    name: 'an enum of 60 KB',
    schema: object({ properties: { a: { enum: range(70, (index) => `${index}${'x'.repeat(1_000)}`) } } }),
    value: { a: 'x' },
    isRejected: true,
  },
  ...['anyOf', 'oneOf', 'allOf'].map((keyword) => ({
    name: `${keyword} that is nested 40 levels deep`,
    schema: object({ properties: { a: nested(40, (inner) => ({ [keyword]: [inner] })) } }),
    value: {},
    isRejected: true,
  })),
  {
    name: 'not that is nested 40 levels deep',
    schema: object({ properties: { a: nested(40, (not) => ({ not })) } }),
    value: {},
    isRejected: true,
  },
  {
    name: '600 dependentSchemas',
    schema: object({ dependentSchemas: Object.fromEntries(range(600, (index) => [`p${index}`, { required: ['x'] }])) }),
    value: {},
    isRejected: true,
  },
  {
    name: 'a pattern that is exponential for other engines',
    schema: object({ properties: { a: { type: 'string', pattern: '^(a+)+$' } } }),
    value: { a: `${LONG}!` },
    isRejected: false,
  },
  {
    name: 'a pattern with a backreference',
    schema: object({ properties: { a: { type: 'string', pattern: String.raw`^(a*)*\1$` } } }),
    value: { a: LONG },
    isRejected: true,
  },
  {
    name: 'a pattern of 2,000 characters',
    schema: object({ properties: { a: { type: 'string', pattern: '(a|b)'.repeat(400) } } }),
    value: { a: LONG },
    isRejected: true,
  },
  {
    name: 'a pattern whose repetitions multiply',
    schema: object({ properties: { a: { type: 'string', pattern: '((a{1000}){1000}){1000}' } } }),
    value: { a: LONG },
    isRejected: true,
  },
  {
    name: 'a pattern with large repetitions',
    schema: object({ properties: { a: { type: 'string', pattern: `${'(a?){100}'.repeat(9)}$` } } }),
    value: { a: `${LONG}!` },
    isRejected: false,
  },
  {
    name: 'patternProperties that are exponential for other engines',
    schema: object({ patternProperties: { '^(a+)+$': { type: 'string' }, '^((ab)*)*$': { type: 'number' } } }),
    value: { [`${LONG}!`]: 1 },
    isRejected: false,
  },
  {
    name: 'a name in patternProperties of 2,000 characters',
    schema: object({ patternProperties: { ['(a|b)'.repeat(400)]: { type: 'string' } } }),
    value: {},
    isRejected: true,
  },
  {
    name: 'uniqueItems with 20,000 objects',
    schema: object({ properties: { a: { type: 'array', uniqueItems: true } } }),
    value: { a: range(20_000, (index) => ({ n: index })) },
    isRejected: false,
  },
  {
    name: 'contains below contains with 2,000 elements',
    schema: object({
      properties: { a: { type: 'array', items: { contains: { const: 1 }, minContains: 2_000, uniqueItems: true } } },
    }),
    value: { a: range(20, () => range(2_000, (index) => [index])) },
    isRejected: false,
  },
  ...[Number.MIN_VALUE, 1e308, 1e-7].map((multipleOf) => ({
    name: `multipleOf ${multipleOf}`,
    schema: object({ properties: { a: { multipleOf } } }),
    value: { a: 1e300 },
    isRejected: false,
  })),
  {
    name: 'limits that are huge numbers',
    schema: object({ maxProperties: 1e308, properties: { a: { minLength: 1e15, maxItems: 1e15 } } }),
    value: { a: LONG },
    isRejected: false,
  },
  {
    name: 'asynchronous keywords of the validator',
    schema: object({ $async: true }),
    value: {},
    isRejected: true,
  },
  {
    name: 'a reference to another document',
    schema: object({ $ref: 'https://evil.example/schema' }),
    value: {},
    isRejected: true,
  },
  {
    name: 'a reference to the schema of schemas',
    schema: object({ $ref: 'https://json-schema.org/draft/2020-12/schema' }),
    value: {},
    isRejected: true,
  },
  {
    name: 'an unknown dialect with the identifier of another schema',
    schema: object({ $schema: 'urn:evil', $id: 'https://json-schema.org/draft/2020-12/schema' }),
    value: {},
    isRejected: false,
  },
  {
    name: 'a value with 60 levels and a schema that follows them',
    schema: object({ properties: { a: { $ref: '#' } } }),
    value: DEEP,
    isRejected: false,
  },
];
