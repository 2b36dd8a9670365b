import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsBoolean } from 'class-validator';

const FLAGS = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
  [undefined, false],
]);

/** A query parameter that is `true` or `false`; false if absent. */
export function QueryFlag(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => FLAGS.get(value) ?? value),
    IsBoolean(),
  );
}
