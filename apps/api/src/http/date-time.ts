import { applyDecorators } from '@nestjs/common';
import { IsISO8601, Matches, MaxLength } from 'class-validator';

/** A date with microseconds and a time zone has 32 characters. */
const MAX_LENGTH = 40;
const DATE_TIME = /^[^T]{4,15}T[^T]{2,20}(?:Z|[+-]\d\d:\d\d)$/;

/** A date with a time and a zone. Without a zone, its meaning would depend on the machine. The length is checked first. */
export function IsDateTime(): PropertyDecorator {
  return applyDecorators(
    MaxLength(MAX_LENGTH),
    Matches(DATE_TIME, { message: '$property must have a time and a zone, such as 2027-06-30T00:00:00Z' }),
    IsISO8601({ strict: true }),
  );
}
