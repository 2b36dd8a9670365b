import type { z } from 'zod';
import type { ApiError, FieldError } from './api.error.js';
import { validationFailed } from './validation.error.js';

/** How errors name the checked value: `prefix` is the first part of each field; `root` is used only in errors of the value itself. */
type Naming = { readonly prefix: string } | { readonly root: string };

/** Creates a VALIDATION_FAILED error with the faults that a schema reports. */
export function schemaFailed({ issues }: z.ZodError, naming: Naming): ApiError {
  return validationFailed(issues.map((issue) => toFieldError(issue, naming)));
}

/** Repeats the field in the message, because the errors of some protocols have only a message. */
function toFieldError({ path, message }: z.core.$ZodIssue, naming: Naming): FieldError {
  const names = path.map(String);
  const field = 'prefix' in naming ? [naming.prefix, ...names].join('.') : names.join('.') || naming.root;
  return { field, message: `${field}: ${message}` };
}
