import type { z } from 'zod';
import { suggestion } from '#rollcall/agent-runtime';
import { ApiError, type FieldError } from '../problems/api.error.js';

const MAX_REPORTED = 20;
const MAX_NAME_LENGTH = 80;

/** The error for an unknown field. `known` lists the valid names; it is called only if the response contains the error. */
interface UnknownFieldError extends FieldError {
  name: string;
  known: () => Iterable<string>;
}

/** How errors name the checked value: `prefix` is the first part of each field; `root` is used only in errors of the value itself. */
type Naming = { readonly prefix: string } | { readonly root: string };

/** Creates a VALIDATION_FAILED error that contains the first errors, and the number of the others. */
export function validationFailed(all: readonly (FieldError | UnknownFieldError)[]): ApiError {
  const errors = all.slice(0, MAX_REPORTED).map(withSuggestion);
  const fields = [...new Set(errors.map(({ field }) => field))].join(', ');
  const moreErrors = all.length - errors.length;
  if (moreErrors === 0) return new ApiError('VALIDATION_FAILED', `Please correct: ${fields}.`, { errors });
  const detail = `Please correct: ${fields}. There are ${moreErrors} more errors.`;
  return new ApiError('VALIDATION_FAILED', detail, { errors, details: { moreErrors } });
}

/** Creates a VALIDATION_FAILED error with the faults that a schema reports. */
export function schemaFailed({ issues }: z.ZodError, naming: Naming): ApiError {
  return validationFailed(issues.map((issue) => toFieldError(issue, naming)));
}

/** Creates the error for a field that has no rule. */
export function unknownField(path: string, name: string, known: () => Iterable<string>): UnknownFieldError {
  const shown = shortName(name);
  return { field: path + shown, message: `${shown} is not a known field`, name, known };
}

function withSuggestion(error: FieldError | UnknownFieldError): FieldError {
  const { field, message } = error;
  return 'known' in error ? { field, message: message + suggestion(error.name, error.known()) } : { field, message };
}

/** Shortens a name that the caller chose, so that a response can repeat it. */
export function shortName(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH)}…`;
}

/** Repeats the field in the message, because the errors of some protocols have only a message. */
function toFieldError({ path, message }: z.core.$ZodIssue, naming: Naming): FieldError {
  const names = path.map(String);
  const field = 'prefix' in naming ? [naming.prefix, ...names].join('.') : names.join('.') || naming.root;
  return { field, message: `${field}: ${message}` };
}
