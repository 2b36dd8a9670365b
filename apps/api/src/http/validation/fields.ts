import {
  applyDecorators,
  type ArgumentMetadata,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type PipeTransform,
  UseGuards,
} from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsISO8601,
  IsObject,
  IsOptional,
  Matches,
  MaxLength,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { unknownField, validationFailed } from './validation.errors.js';

/**
 * A property that holds one object with rules of its own. `ValidateNested` alone also accepts a list, whose values are then lost. Use
 * `Nested` or `NestedList` instead of `ValidateNested`; a test checks every DTO.
 */
export function Nested(type: () => new () => object): PropertyDecorator {
  return applyDecorators(IsObject(), ValidateNested(), Type(type));
}

/**
 * A property that holds a list of objects with rules of their own. Add the rules for the size of the list. `ValidateNested` alone also
 * accepts a list as an element. Null replaces such an element, because `ValidateNested` rejects null and reports the index.
 */
export function NestedList(type: () => new () => object): PropertyDecorator {
  return applyDecorators(
    IsArray(),
    ValidateNested({ each: true }),
    Type(type),
    Transform(({ value }: { value: unknown }) =>
      Array.isArray(value) ? value.map((element: unknown) => (Array.isArray(element) ? null : element)) : value,
    ),
  );
}

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

/** A date with microseconds and a time zone has 32 characters. */
const DATE_TIME_LENGTH = 40;
const DATE_TIME = /^[^T]{4,15}T[^T]{2,20}(?:Z|[+-]\d\d:\d\d)$/;

/** A date with a time and a zone. Without a zone, its meaning would depend on the machine. The length is checked first. */
export function IsDateTime(): PropertyDecorator {
  return applyDecorators(
    MaxLength(DATE_TIME_LENGTH),
    Matches(DATE_TIME, { message: '$property must have a time and a zone, such as 2027-06-30T00:00:00Z' }),
    IsISO8601({ strict: true }),
  );
}

const NUMBER_LENGTH = 20;

/**
 * Converts a query parameter to a number. Blank or long text is not converted, so that the rules of the field reject it:
 * `Number` alone would convert a blank to 0.
 */
export function QueryNumber(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && value.length <= NUMBER_LENGTH && value.trim() !== '' ? Number(value) : value,
  );
}

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

/** A whole number as a path parameter, such as a revision. The error names the parameter. */
@Injectable()
export class WholeNumberPipe implements PipeTransform<string | number, number> {
  constructor(private readonly rule: { readonly example: number; readonly maxDigits?: number }) {}

  /** The validation pipe has already converted the text of a parameter that is declared as a number. */
  transform(value: string | number, { data: name = '' }: ArgumentMetadata): number {
    const { example, maxDigits = Infinity } = this.rule;
    const text = String(value);
    if (/^\d+$/.test(text) && text.length <= maxDigits) return Number(value);
    throw validationFailed([{ field: name, message: `${name} must be a whole number such as ${example}` }]);
  }
}

/** Rejects a request with query parameters, or with a body other than an empty object. */
@Injectable()
class NoInputGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { query, body } = context.switchToHttp().getRequest<FastifyRequest>();
    if (Array.isArray(body) || (typeof body !== 'object' && body !== undefined))
      throw validationFailed([{ field: 'body', message: 'body must be absent or an empty JSON object' }]);
    const names = [...Object.keys(query ?? {}), ...Object.keys(body ?? {})];
    if (names.length > 0) throw validationFailed(names.map((name) => unknownField('', name, () => [])));
    return true;
  }
}

/** For a route that has no query and no body: without a DTO, the validation pipe checks nothing. */
export function NoInput(): MethodDecorator {
  return applyDecorators(UseGuards(NoInputGuard));
}
