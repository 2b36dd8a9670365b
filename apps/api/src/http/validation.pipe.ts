import { type ArgumentMetadata, ValidationPipe, type ValidationError } from '@nestjs/common';
import { ApiError, type FieldFault } from './api.error.js';

/** DTOs are checked whole: every fault is named, unknown fields are refused. */
export function validationPipe(): ValidationPipe {
  return new ObjectsPipe({
    whitelist: true,
    forbidNonWhitelisted: true,
    forbidUnknownValues: true,
    transform: true,
    stopAtFirstError: false,
    exceptionFactory: (faults) => {
      const errors = faults.flatMap((fault) => flatten(fault));
      const fields = [...new Set(errors.map((error) => error.field))].join(', ');
      return new ApiError('VALIDATION_FAILED', `Please correct: ${fields}.`, { errors });
    },
  });
}

/** A body is an object or nothing; of a list, the faults would be told in words that nobody sent. */
class ObjectsPipe extends ValidationPipe {
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type !== 'body' || value === undefined || (typeof value === 'object' && !Array.isArray(value)))
      return (await super.transform(value, metadata)) as unknown;
    const errors = [{ field: 'body', message: 'the body must be a JSON object' }];
    throw new ApiError('VALIDATION_FAILED', 'Please correct: body.', { errors });
  }
}

function flatten(fault: ValidationError, parent = ''): FieldFault[] {
  const field = parent ? `${parent}.${fault.property}` : fault.property;
  const own = Object.entries(fault.constraints ?? {}).map(([rule, message]) => ({
    field,
    message: rule === 'whitelistValidation' ? `${fault.property} is not a known field` : message,
  }));
  return [...own, ...(fault.children ?? []).flatMap((child) => flatten(child, field))];
}
