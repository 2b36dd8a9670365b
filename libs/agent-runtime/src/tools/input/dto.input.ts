import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, IS_OPTIONAL, validate, type ValidationError, ValidationTypes } from 'class-validator';
import { type InputReader, joinProblems, type ParsedInput } from './input.reader.js';

/** A class whose properties have decorators of class-validator. */
export type DtoClass<Dto extends object = object> = new () => Dto;

const RULES = { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true };

/** Reads inputs with a class that has decorators of class-validator. Unknown fields are rejected. */
export function dtoInput(dto: DtoClass): InputReader {
  return { inputSchema: dtoSchema(dto), parse: async (input) => await parse(dto, input) };
}

async function parse(dto: DtoClass, input: unknown): Promise<ParsedInput> {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return { ok: false, problems: 'expected an object' };
  const value = plainToInstance(dto, input);
  const errors = await validate(value, RULES);
  return errors.length === 0 ? { ok: true, value } : { ok: false, problems: joinProblems(problemsIn(errors, '')) };
}

function problemsIn(errors: readonly ValidationError[], prefix: string): { path: string; message: string }[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => {
    const path = prefix === '' ? property : `${prefix}.${property}`;
    const own = Object.values(constraints).map((message) => ({ path, message }));
    return [...own, ...problemsIn(children, path)];
  });
}

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
function dtoSchema(dto: DtoClass, enclosing: readonly DtoClass[] = []): Schema {
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

type Convert = (constraints: readonly unknown[]) => Record<string, unknown>;

const text = (format: string) => () => ({ type: 'string', format });

/** The JSON Schema of each supported decorator of class-validator, by the name of its rule. */
const rulesOf: Readonly<Record<string, Convert | undefined>> = {
  isString: () => ({ type: 'string' }),
  minLength: ([min]) => ({ type: 'string', minLength: min }),
  maxLength: ([max]) => ({ type: 'string', maxLength: max }),
  isLength: ([min, max]) => ({ type: 'string', minLength: min, ...(max !== undefined && { maxLength: max }) }),
  isNotEmpty: () => ({}),
  isDefined: () => ({}),
  matches: ([pattern]) => ({ type: 'string', pattern: sourceOf(pattern) }),
  isUuid: text('uuid'),
  isEmail: text('email'),
  isUrl: text('uri'),
  isDateString: text('date-time'),
  isIso8601: text('date-time'),

  isNumber: () => ({ type: 'number' }),
  isInt: () => ({ type: 'integer' }),
  min: ([min]) => ({ minimum: min }),
  max: ([max]) => ({ maximum: max }),
  isPositive: () => ({ exclusiveMinimum: 0 }),
  isNegative: () => ({ exclusiveMaximum: 0 }),
  isDivisibleBy: ([factor]) => ({ multipleOf: factor }),

  isBoolean: () => ({ type: 'boolean' }),
  isObject: () => ({ type: 'object' }),
  isNotEmptyObject: () => ({ type: 'object', minProperties: 1 }),
  isIn: ([values]) => ({ enum: values }),
  isEnum: ([, values]) => ({ enum: values }),
  equals: ([value]) => ({ const: value }),

  isArray: () => ({ type: 'array' }),
  arrayMinSize: ([min]) => ({ type: 'array', minItems: min }),
  arrayMaxSize: ([max]) => ({ type: 'array', maxItems: max }),
  arrayNotEmpty: () => ({ type: 'array', minItems: 1 }),
  arrayUnique: () => ({ type: 'array', uniqueItems: true }),
};

/** Rejects a pattern with flags, such as `i`, because JSON Schema has no equivalent. */
function sourceOf(pattern: unknown): string {
  const { source, flags } = pattern instanceof RegExp ? pattern : new RegExp(String(pattern));
  if (flags.replace('u', '') !== '')
    throw new Error(`the pattern /${source}/${flags} has flags; rewrite it without flags`);
  return source;
}
