import { ValidateBy } from 'class-validator';

/** A text with at most this many bytes in UTF-8. */
export function MaxBytes(limit: number): PropertyDecorator {
  return ValidateBy({
    name: 'maxBytes',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && Buffer.byteLength(value) <= limit,
      defaultMessage: (context) => `${context?.property ?? 'text'} must have at most ${limit} bytes`,
    },
  });
}
