import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, IS_OPTIONAL, ValidationTypes } from 'class-validator';
import { rulesOf } from './dto.rules.js';
import type { DtoClass } from './input.reader.js';

type Schema = Record<string, unknown>;
type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

const DESCRIPTION = 'rollcall:description';

/** Describes a property of a DTO to the model. */
export function Describe(text: string): PropertyDecorator {
  return (target, property) => Reflect.defineMetadata(DESCRIPTION, text, target, property);
}

/**
 * The JSON Schema of a DTO. It covers the common decorators of class-validator. A decorator that has no equivalent in JSON Schema is
 * an error, because the model would not know the rule. `enclosing` contains the classes around a nested class.
 */
export function dtoSchema(dto: DtoClass, enclosing: readonly DtoClass[] = []): Schema {
  if (enclosing.includes(dto)) throw new Error(`${dto.name} contains itself, which a DTO cannot describe`);
  const rules = Map.groupBy(storedRules(dto), ({ propertyName }) => propertyName);
  if (rules.size === 0) throw new Error(`${dto.name} has no properties with decorators of class-validator`);
  const path = [...enclosing, dto];
  const properties = [...rules].map(([name, all]) => [name, propertySchema(dto, name, all, path)] as const);
  const required = [...rules].filter(([, all]) => !all.some(isOptional)).map(([name]) => name);
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false };
}

function storedRules(dto: DtoClass): Rule[] {
  return getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
}

function propertySchema(dto: DtoClass, name: string, rules: readonly Rule[], path: readonly DtoClass[]): Schema {
  const schema: Schema = {};
  const items: Schema = {};
  for (const rule of rules) Object.assign(rule.each ? items : schema, schemaOfRule(dto, rule, path));
  if (rules.some(({ each }) => each)) Object.assign(schema, { type: 'array', items });
  if (Object.keys(schema).length === 0) throw new Error(`${dto.name}.${name} has no decorator that states its type`);
  const description = Reflect.getMetadata(DESCRIPTION, dto.prototype as object, name) as string | undefined;
  return description === undefined ? schema : { description, ...schema };
}

function schemaOfRule(dto: DtoClass, rule: Rule, path: readonly DtoClass[]): Schema {
  if (isOptional(rule) || rule.type === ValidationTypes.WHITELIST) return {};
  if (rule.type === ValidationTypes.NESTED_VALIDATION) return dtoSchema(nestedClass(dto, rule), path);
  const convert = rulesOf[rule.name ?? ''];
  if (convert) return convert((rule.constraints ?? []) as unknown[]);
  throw new Error(
    `${dto.name}.${rule.propertyName} has a rule without an equivalent in JSON Schema (${rule.name ?? rule.type}); ` +
      'use other decorators, a Standard Schema, or { jsonSchema, parse }',
  );
}

function isOptional({ type, name }: Rule): boolean {
  return type === ValidationTypes.CONDITIONAL_VALIDATION && name === IS_OPTIONAL;
}

/** Returns the class from `@Type`. class-transformer offers no way to read it, so an empty object is converted to an instance. */
function nestedClass(dto: DtoClass, { propertyName, each }: Rule): DtoClass {
  const probe = plainToInstance(dto, { [propertyName]: each ? [{}] : {} }) as Record<string, unknown>;
  const value = each ? (probe[propertyName] as unknown[])[0] : probe[propertyName];
  const nested = (value as object).constructor as DtoClass;
  if (nested === Object) throw new Error(`${dto.name}.${propertyName} is nested and needs @Type(() => …)`);
  return nested;
}
