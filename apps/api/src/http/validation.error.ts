import { ApiError, type FieldFault } from './api.error.js';

const MOST_REPORTED = 20;
const LONGEST_NAME = 80;

/** VALIDATION_FAILED with the first faults in full, and how many more there are. */
export function validationFailed(faults: readonly FieldFault[]): ApiError {
  const errors = faults.slice(0, MOST_REPORTED);
  const fields = [...new Set(errors.map(({ field }) => field))].join(', ');
  const moreErrors = faults.length - errors.length;
  if (moreErrors === 0) return new ApiError('VALIDATION_FAILED', `Please correct: ${fields}.`, { errors });
  const detail = `Please correct: ${fields}. There are ${moreErrors} more errors.`;
  return new ApiError('VALIDATION_FAILED', detail, { errors, details: { moreErrors } });
}

/** The fault of a field that no rule names. */
export function unknownField(path: string, name: string): FieldFault {
  const shown = shortened(name);
  return { field: path + shown, message: `${shown} is not a known field` };
}

/** A name the caller chose, short enough to be repeated in an answer. */
export function shortened(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}…`;
}
