import { ApiError } from './api.error.js';
import { shortened, validationFailed } from './validation.error.js';

/** What any request may contain, whatever its route. The rules of a DTO are stricter; these hold before they are read. */
export const INPUT_LIMITS = {
  depth: 64,
  /** All keys and elements together: a batch of 1,000 heartbeats has about 8,000. */
  values: 20_000,
  keysOfObject: 500,
  elementsOfArray: 5_000,
  keyLength: 256,
  stringLength: 65_536,
} as const;

/** The first fault, and the path to it, innermost step first. */
interface InputFault {
  path: string[];
  /** What is wrong with the field; undefined when the text itself cannot be kept. */
  message?: string;
  unreadable?: string;
}

const NUL = 'The input has a NUL character (\\u0000), which cannot be stored. Remove it.';
const LONE_SURROGATE = 'The input has half of a surrogate pair, which is not a character. Remove it.';

/**
 * Rejects input that is too large in any direction, before any other code looks at it. The cost is linear in the size of
 * what is accepted, and an object or array beyond its limit is not looked into.
 */
export function checkInput(value: unknown): void {
  const fault = faultIn(value, 0);
  if (!fault) return;
  if (fault.unreadable !== undefined) throw new ApiError('MALFORMED_JSON', fault.unreadable);
  const field = fault.path.toReversed().map(shortened).join('.') || 'body';
  throw validationFailed([{ field, message: `${field} ${fault.message ?? ''}` }]);
}

function faultIn(value: unknown, depth: number): InputFault | undefined {
  if (typeof value === 'string') return faultInText(value, INPUT_LIMITS.stringLength);
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= INPUT_LIMITS.depth) return { path: [], message: `must have at most ${INPUT_LIMITS.depth} levels` };
  return Array.isArray(value) ? faultInArray(value, depth) : faultInObject(value as Record<string, unknown>, depth);
}

function faultInArray(values: readonly unknown[], depth: number): InputFault | undefined {
  const { elementsOfArray } = INPUT_LIMITS;
  if (values.length > elementsOfArray) return { path: [], message: `must have at most ${elementsOfArray} elements` };
  for (let index = 0; index < values.length; index++) {
    const fault = faultIn(values[index], depth + 1);
    if (fault) return below(String(index), fault);
  }
  return undefined;
}

function faultInObject(values: Record<string, unknown>, depth: number): InputFault | undefined {
  const { keysOfObject } = INPUT_LIMITS;
  let count = 0;
  // not Object.keys: making an array of all names takes longer than the rest, and most names may be too many
  for (const name in values) {
    if (++count > keysOfObject) return { path: [], message: `must have at most ${keysOfObject} keys` };
    const fault = faultInName(name) ?? faultIn(values[name], depth + 1);
    if (fault) return below(name, fault);
  }
  return undefined;
}

/** Code that looks fields up by name would find an inherited name such as `toString` on every object. */
function faultInName(name: string): InputFault | undefined {
  if (name in Object.prototype) return { path: [], message: 'is a reserved name; use another' };
  const { keyLength } = INPUT_LIMITS;
  if (name.length > keyLength) return { path: [], message: `must be a key of at most ${keyLength} characters` };
  return faultInText(name, keyLength);
}

function faultInText(text: string, longest: number): InputFault | undefined {
  if (text.length > longest) return { path: [], message: `must have at most ${longest} characters` };
  if (text.includes('\0')) return { path: [], unreadable: NUL };
  return text.isWellFormed() ? undefined : { path: [], unreadable: LONE_SURROGATE };
}

function below(step: string, fault: InputFault): InputFault {
  fault.path.push(step);
  return fault;
}
