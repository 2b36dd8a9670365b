import { type ArgumentMetadata, ValidationPipe, type ValidationError } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import type { ApiError, FieldError } from './api.error.js';
import { fieldMessage } from './field.message.js';
import { checkInput } from './input.check.js';
import { unknownField, validationFailed } from './validation.error.js';
import { keepValidationRules } from './validation.rules.js';

keepValidationRules(getMetadataStorage());

/**
 * Every field of a DTO is checked, and unknown fields are rejected. Only the first error of each field is reported. In a DTO,
 * write the length rule directly above the property: class-validator checks it first, so the other rules get only short values.
 */
export const VALIDATION = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: true,
  stopAtFirstError: true,
  validationError: { target: true }, // the class of the target has the known fields
} as const;

export function validationPipe(): ValidationPipe {
  return new ObjectsPipe({
    ...VALIDATION,
    transform: true,
    exceptionFactory: failed,
  });
}

/**
 * Checks an instance of a DTO by the rules of the pipe. Use it for bodies with many objects, because the pipe copies its whole input
 * and creates several promises for each object, which takes longer than the checks.
 */
export function validated<T extends object>(instance: T): T {
  const faults = validateSync(instance, VALIDATION);
  if (faults.length > 0) throw failed(faults);
  return instance;
}

/** Checks the size of the input before class-transformer and class-validator process it. A body must be an object or absent. */
class ObjectsPipe extends ValidationPipe {
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'custom') return (await super.transform(value, metadata)) as unknown;
    checkInput(value);
    if (metadata.type !== 'body' || value === undefined || (typeof value === 'object' && !Array.isArray(value)))
      return (await super.transform(value, metadata)) as unknown;
    throw validationFailed([{ field: 'body', message: 'the body, or the `data` of a frame, must be a JSON object' }]);
  }
}

function failed(errors: readonly ValidationError[]): ApiError {
  return validationFailed(errors.flatMap((error) => flatten(error)));
}

function flatten(error: ValidationError, parent = ''): FieldError[] {
  const path = parent + error.property;
  const own = Object.entries(error.constraints ?? {}).map(([rule, message]) =>
    rule === 'whitelistValidation'
      ? unknownField(parent, error.property, () => fieldsOf(error.target))
      : { field: path, message: fieldMessage(error, rule, message, path) },
  );
  return [...own, ...(error.children ?? []).flatMap((child) => flatten(child, `${path}.`))];
}

/** The fields that have a rule. */
function fieldsOf(target: object | undefined): Set<string> {
  if (!target) return new Set();
  const rules = getMetadataStorage().getTargetValidationMetadatas(target.constructor, '', false, false);
  return new Set(rules.map(({ propertyName }) => propertyName));
}
