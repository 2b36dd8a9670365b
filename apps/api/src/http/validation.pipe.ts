import { type ArgumentMetadata, ValidationPipe, type ValidationError } from '@nestjs/common';
import type { FieldFault } from './api.error.js';
import { checkInput } from './input.check.js';
import { unknownField, validationFailed } from './validation.error.js';

/**
 * Every field of a DTO is checked, and unknown fields are rejected. Of one field only the first fault is reported: a DTO
 * puts the rule about its length next to the property, where class-validator begins, so that later rules see short values.
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
    exceptionFactory: (faults) => validationFailed(faults.flatMap((fault) => flatten(fault))),
  });
}

/** Checks the size of its input before class-transformer and class-validator see it; a body is an object or nothing. */
class ObjectsPipe extends ValidationPipe {
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'custom') return (await super.transform(value, metadata)) as unknown;
    checkInput(value);
    if (metadata.type !== 'body' || value === undefined || (typeof value === 'object' && !Array.isArray(value)))
      return (await super.transform(value, metadata)) as unknown;
    throw validationFailed([{ field: 'body', message: 'the body must be a JSON object' }]);
  }
}

function flatten(fault: ValidationError, parent = ''): FieldFault[] {
  const own = Object.entries(fault.constraints ?? {}).map(([rule, message]) =>
    rule === 'whitelistValidation' ? unknownField(parent, fault.property) : { field: parent + fault.property, message },
  );
  return [...own, ...(fault.children ?? []).flatMap((child) => flatten(child, `${parent}${fault.property}.`))];
}
