import { Transform } from 'class-transformer';

const MAX_LENGTH = 20;

/**
 * Converts a query parameter to a number. Blank or long text is not converted, so that the rules of the field reject it:
 * `Number` alone would convert a blank to 0.
 */
export function QueryNumber(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && value.length <= MAX_LENGTH && value.trim() !== '' ? Number(value) : value,
  );
}
