import { isDeepStrictEqual } from 'node:util';

/** One field that differs between two revisions. An absent value is undefined. */
export interface FieldChange {
  /** The path of the field, such as `budget.tokens`. A list is one value. */
  field: string;
  before?: unknown;
  after?: unknown;
}

/** The fields that differ, sorted by path. */
export function diffOf(before: object, after: object, path = ''): FieldChange[] {
  const [one, other] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const keys = [...new Set([...one.keys(), ...other.keys()])].toSorted();
  return keys.flatMap((key) => changeOf(path + key, one.get(key), other.get(key)));
}

function changeOf(field: string, before: unknown, after: unknown): FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isPlain(before) && isPlain(after)) return diffOf(before, after, `${field}.`);
  return [{ field, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
