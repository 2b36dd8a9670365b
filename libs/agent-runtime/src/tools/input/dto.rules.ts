type Convert = (constraints: readonly unknown[]) => Record<string, unknown>;

const text = (format: string) => () => ({ type: 'string', format });

/** The JSON Schema of each supported decorator of class-validator, by the name of its rule. */
export const rulesOf: Readonly<Record<string, Convert | undefined>> = {
  isString: () => ({ type: 'string' }),
  minLength: ([min]) => ({ type: 'string', minLength: min }),
  maxLength: ([max]) => ({ type: 'string', maxLength: max }),
  isLength: ([min, max]) => ({ type: 'string', minLength: min, ...(max !== undefined && { maxLength: max }) }),
  isNotEmpty: () => ({}),
  isDefined: () => ({}),
  matches: ([pattern]) => ({ type: 'string', pattern: sourceOf(pattern) }),
  isUuid: text('uuid'),
  isEmail: text('email'),
  isUrl: text('uri'),
  isDateString: text('date-time'),
  isIso8601: text('date-time'),

  isNumber: () => ({ type: 'number' }),
  isInt: () => ({ type: 'integer' }),
  min: ([min]) => ({ minimum: min }),
  max: ([max]) => ({ maximum: max }),
  isPositive: () => ({ exclusiveMinimum: 0 }),
  isNegative: () => ({ exclusiveMaximum: 0 }),
  isDivisibleBy: ([factor]) => ({ multipleOf: factor }),

  isBoolean: () => ({ type: 'boolean' }),
  isObject: () => ({ type: 'object' }),
  isNotEmptyObject: () => ({ type: 'object', minProperties: 1 }),
  isIn: ([values]) => ({ enum: values }),
  isEnum: ([, values]) => ({ enum: values }),
  equals: ([value]) => ({ const: value }),

  isArray: () => ({ type: 'array' }),
  arrayMinSize: ([min]) => ({ type: 'array', minItems: min }),
  arrayMaxSize: ([max]) => ({ type: 'array', maxItems: max }),
  arrayNotEmpty: () => ({ type: 'array', minItems: 1 }),
  arrayUnique: () => ({ type: 'array', uniqueItems: true }),
};

/** Rejects a pattern with flags, such as `i`, because JSON Schema has no equivalent. */
function sourceOf(pattern: unknown): string {
  const { source, flags } = pattern instanceof RegExp ? pattern : new RegExp(String(pattern));
  if (flags.replace('u', '') !== '')
    throw new Error(`the pattern /${source}/${flags} has flags; rewrite it without flags`);
  return source;
}
