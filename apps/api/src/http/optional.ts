import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';

/**
 * A field that may be absent or null; both become `fallback`. Use it where null has no meaning of its own: `IsOptional` alone
 * passes null on, and arithmetic converts null to 0.
 */
export function Optional(fallback?: string | number): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) => value ?? fallback),
  );
}
