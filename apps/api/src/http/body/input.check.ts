import { ApiError } from '../problems/api.error.js';
import { shortName, validationFailed } from '../validation/validation.errors.js';

/** Limits for the input of every request. The rules of a DTO are stricter and are checked later. */
export const INPUT_LIMITS = {
  depth: 64,
  /** All keys and elements together: a batch of 1,000 heartbeats has about 8,000. */
  values: 20_000,
  keysOfObject: 500,
  elementsOfArray: 5_000,
  keyLength: 256,
  stringLength: 65_536,
} as const;

/** The first error, with its path in reverse order: the innermost key comes first. */
interface InputError {
  path: string[];
  /** What is wrong with the field. Either this or `malformed` is set. */
  message?: string;
  /** Set when the text contains characters that cannot be stored. */
  malformed?: string;
}

const NUL = 'The input contains a NUL character (\\u0000), which cannot be stored. Remove it.';
const LONE_SURROGATE = 'The input contains half of a surrogate pair, which is not a character. Remove it.';

/**
 * Rejects input that is too large before any other code processes it. The cost is linear in the size of the accepted input,
 * and the contents of an object or array beyond its limit are not checked.
 */
export function checkInput(value: unknown, stringLength: number = INPUT_LIMITS.stringLength): void {
  const error = errorIn(value, 0, stringLength);
  if (!error) return;
  if (error.malformed !== undefined) throw new ApiError('MALFORMED_JSON', error.malformed);
  const field = error.path.toReversed().map(shortName).join('.') || 'body';
  throw validationFailed([{ field, message: `${field} ${error.message ?? ''}` }]);
}

function errorIn(value: unknown, depth: number, longest: number): InputError | undefined {
  if (typeof value === 'string') return errorInText(value, longest);
  if (value === Infinity || value === -Infinity) return { path: [], message: 'must be a number that is not too large' };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= INPUT_LIMITS.depth) return { path: [], message: `must have at most ${INPUT_LIMITS.depth} levels` };
  return Array.isArray(value)
    ? errorInArray(value, depth, longest)
    : errorInObject(value as Record<string, unknown>, depth, longest);
}

function errorInArray(values: readonly unknown[], depth: number, longest: number): InputError | undefined {
  const { elementsOfArray } = INPUT_LIMITS;
  if (values.length > elementsOfArray) return { path: [], message: `must have at most ${elementsOfArray} elements` };
  for (let index = 0; index < values.length; index++) {
    const error = errorIn(values[index], depth + 1, longest);
    if (error) return below(String(index), error);
  }
  return undefined;
}

function errorInObject(values: Record<string, unknown>, depth: number, longest: number): InputError | undefined {
  const { keysOfObject } = INPUT_LIMITS;
  let count = 0;
  // Object.keys would create an array of all names, even when there are far too many.
  for (const name in values) {
    if (++count > keysOfObject) return { path: [], message: `must have at most ${keysOfObject} keys` };
    const error = errorInName(name) ?? errorIn(values[name], depth + 1, longest);
    if (error) return below(name, error);
  }
  return undefined;
}

/** Rejects names that every object inherits, such as `toString`: code that looks up a field by name would find the inherited one. */
function errorInName(name: string): InputError | undefined {
  if (name in Object.prototype) return { path: [], message: 'is a reserved name; use another' };
  const { keyLength } = INPUT_LIMITS;
  if (name.length > keyLength) return { path: [], message: `must be a key of at most ${keyLength} characters` };
  return errorInText(name, keyLength);
}

function errorInText(text: string, longest: number): InputError | undefined {
  if (text.length > longest) return { path: [], message: `must have at most ${longest} characters` };
  if (text.includes('\0')) return { path: [], malformed: NUL };
  return text.isWellFormed() ? undefined : { path: [], malformed: LONE_SURROGATE };
}

function below(step: string, error: InputError): InputError {
  error.path.push(step);
  return error;
}
