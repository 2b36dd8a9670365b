import { roleFromJSON, roleToJSON } from '@a2a-js/sdk';

/** The contents of these fields belong to the caller. */
const FREE: ReadonlySet<string> = new Set(['metadata', 'data']);
const AFTER_UNDERSCORE = /_([a-z0-9])/g;

/**
 * The parameters of version 1.0 in the form that the codecs and the checks expect. ProtoJSON also allows other forms: a field with null is
 * absent, names may be in snake_case, and the role of a message may be a number.
 */
export function fromProtoJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromProtoJson);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(fields.map(([name, inner]) => fieldOf(name, inner)));
}

function fieldOf(given: string, value: unknown): [string, unknown] {
  const name = given.replace(AFTER_UNDERSCORE, (_, letter: string) => letter.toUpperCase());
  if (FREE.has(name)) return [name, value];
  if (name === 'role' && typeof value === 'number') return [name, roleToJSON(roleFromJSON(value))];
  return [name, fromProtoJson(value)];
}
