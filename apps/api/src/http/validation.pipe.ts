import { type ArgumentMetadata, ValidationPipe, type ValidationError } from '@nestjs/common';
import type { FieldError } from './api.error.js';
import { checkInput } from './input.check.js';
import { unknownField, validationFailed } from './validation.error.js';

/**
 * Every field of a DTO is checked, and unknown fields are rejected. Only the first error of each field is reported. In a DTO,
 * the rule about the length stands next to the property: class-validator checks it first, so later rules get short values.
 */
export const VALIDATION = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: true,
  stopAtFirstError: true,
} as const;

export function validationPipe(): ValidationPipe {
  return new ObjectsPipe({
    ...VALIDATION,
    transform: true,
    exceptionFactory: (errors) => validationFailed(errors.flatMap((error) => flatten(error))),
  });
}

/** Checks the size of the input before class-transformer and class-validator process it. A body must be an object or absent. */
class ObjectsPipe extends ValidationPipe {
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'custom') return (await super.transform(value, metadata)) as unknown;
    checkInput(value);
    if (metadata.type !== 'body' || value === undefined || (typeof value === 'object' && !Array.isArray(value)))
      return (await super.transform(value, metadata)) as unknown;
    throw validationFailed([{ field: 'body', message: 'the body must be a JSON object' }]);
  }
}

function flatten(error: ValidationError, parent = ''): FieldError[] {
  const own = Object.entries(error.constraints ?? {}).map(([rule, message]) =>
    rule === 'whitelistValidation' ? unknownField(parent, error.property) : { field: parent + error.property, message },
  );
  return [...own, ...(error.children ?? []).flatMap((child) => flatten(child, `${parent}${error.property}.`))];
}
