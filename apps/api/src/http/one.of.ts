import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';

type UnionSchema = Pick<NonNullable<Parameters<typeof ApiProperty>[0]>, 'oneOf'> & {
  discriminator: { propertyName: string; mapping: Record<string, string> };
};

/** Classes by the value of the field that distinguishes them. */
export type Variants = Readonly<Record<string, Type>>;

/** Documents a value of any JSON type. */
export const ANY_JSON = {
  oneOf: [
    { type: 'string', nullable: true },
    { type: 'number' },
    { type: 'boolean' },
    { type: 'array', items: {} },
    { type: 'object', additionalProperties: true },
  ],
};

interface OneOfOptions {
  description: string;
  isArray?: true;
  isOptional?: true;
  example?: unknown;
}

/** Documents a property whose value, or whose elements, are objects of several classes. The value of `field` determines the class. */
export function OneOf(
  field: string,
  variants: Variants,
  { isArray, isOptional, ...about }: OneOfOptions,
): PropertyDecorator {
  const schema = unionOf(field, variants);
  const property = isArray ? { type: 'array', items: schema } : schema;
  const document = ApiProperty({ ...property, ...about, required: !isOptional } as Parameters<typeof ApiProperty>[0]);
  return (target, key) => {
    document(target, key);
    ApiExtraModels(...classesOf(variants))(target.constructor);
  };
}

/** Adds a schema to the document for objects of several classes. The classes must be in the document. */
export function addUnion(document: OpenAPIObject, name: string, field: string, variants: Variants): void {
  const schemas = (document.components ??= {}).schemas ?? {};
  schemas[name] = {
    description: `One of several objects. \`${field}\` determines which.`,
    ...unionOf(field, variants),
  };
}

export function classesOf(variants: Variants): Type[] {
  return [...new Set(Object.values(variants))];
}

function unionOf(field: string, variants: Variants): UnionSchema {
  const paths = Object.entries(variants).map(([value, one]) => [value, getSchemaPath(one)] as const);
  const refs = [...new Set(paths.map(([, path]) => path))];
  return {
    oneOf: refs.map(($ref) => ({ $ref })),
    discriminator: { propertyName: field, mapping: Object.fromEntries(paths) },
  };
}
