import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';

/**
 * A field that may be left out. A null says no more than that, where a null has no meaning of its own: both become
 * `otherwise`. (`IsOptional` alone lets a null pass, and arithmetic makes a zero of it.)
 */
export function Optional(otherwise?: string | number): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) => value ?? otherwise),
  );
}
