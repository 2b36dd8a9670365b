import { Transform } from 'class-transformer';

const LONGEST = 20;

/**
 * A number in an address, where everything is text. What is not the text of a number stays as it is, for the rules of the
 * field to reject; `Number` alone would make 0 of a blank.
 */
export function QueryNumber(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && value.length <= LONGEST && value.trim() !== '' ? Number(value) : value,
  );
}
