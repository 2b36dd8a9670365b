/** Limits that a model does not need to know. If an input exceeds one, the model receives the problem. */
const OMITTED: ReadonlySet<string> = new Set([
  'additionalProperties',
  'default',
  'maxItems',
  'maxLength',
  'minItems',
  'minLength',
]);

/** A JSON Schema with types and required properties only, which costs fewer tokens. The input is still checked with the whole schema. */
export function shortSchema(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(schema).filter(([key]) => !OMITTED.has(key));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'properties' ? eachShort(value) : short(value)]),
  );
}

/** The keys of `properties` are names, and not keywords. */
function eachShort(properties: unknown): unknown {
  return Object.fromEntries(Object.entries(properties as object).map(([name, schema]) => [name, short(schema)]));
}

function short(value: unknown): unknown {
  const isSchema = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isSchema ? shortSchema(value as Record<string, unknown>) : value;
}
