import { type ArgumentMetadata, type ValidationError, ValidationPipe } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { checkInput } from '../body/input.check.js';
import type { ApiError, FieldError } from '../problems/api.error.js';
import { unknownField, validationFailed } from './validation.errors.js';

keepValidationRules(getMetadataStorage());

/**
 * Every field of a DTO is checked, and unknown fields are rejected. Only the first error of each field is reported. In a DTO,
 * write the length rule directly above the property: class-validator checks it first, so the other rules get only short values.
 */
export const VALIDATION = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: true,
  stopAtFirstError: true,
  validationError: { target: true }, // the class of the target has the known fields
} as const;

export function validationPipe(): ValidationPipe {
  return new ObjectsPipe({
    ...VALIDATION,
    transform: true,
    exceptionFactory: failed,
  });
}

/**
 * Checks an instance of a DTO by the rules of the pipe. Use it for bodies with many objects, because the pipe copies its whole input
 * and creates several promises for each object, which takes longer than the checks.
 */
export function validated<T extends object>(instance: T): T {
  const faults = validateSync(instance, VALIDATION);
  if (faults.length > 0) throw failed(faults);
  return instance;
}

/** Checks the size of the input before class-transformer and class-validator process it. A body must be an object or absent. */
class ObjectsPipe extends ValidationPipe {
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (metadata.type === 'custom') return (await super.transform(value, metadata)) as unknown;
    checkInput(value);
    if (metadata.type !== 'body' || value === undefined || (typeof value === 'object' && !Array.isArray(value)))
      return (await super.transform(value, metadata)) as unknown;
    throw validationFailed([{ field: 'body', message: 'the body, or the `data` of a frame, must be a JSON object' }]);
  }
}

function failed(errors: readonly ValidationError[]): ApiError {
  return validationFailed(errors.flatMap((error) => flatten(error)));
}

function flatten(error: ValidationError, parent = ''): FieldError[] {
  const path = parent + error.property;
  const own = Object.entries(error.constraints ?? {}).map(([rule, message]) =>
    rule === 'whitelistValidation'
      ? unknownField(parent, error.property, () => fieldsOf(error.target))
      : { field: path, message: fieldMessage(error, rule, message, path) },
  );
  return [...own, ...(error.children ?? []).flatMap((child) => flatten(child, `${path}.`))];
}

/** The fields that have a rule. */
function fieldsOf(target: object | undefined): Set<string> {
  if (!target) return new Set();
  const rules = getMetadataStorage().getTargetValidationMetadatas(target.constructor, '', false, false);
  return new Set(rules.map(({ propertyName }) => propertyName));
}

interface NeededType {
  name: string;
  includes(value: unknown): boolean;
}

const NUMBER: NeededType = { name: 'a number', includes: (value) => typeof value === 'number' && !Number.isNaN(value) };
const STRING: NeededType = { name: 'a string', includes: (value) => typeof value === 'string' };
const LIST: NeededType = { name: 'a list', includes: (value) => Array.isArray(value) };

/** The type that a value needs before a rule about its size makes sense. */
const NEEDED_TYPES = new Map<string, NeededType>([
  ['min', NUMBER],
  ['max', NUMBER],
  ['isLength', STRING],
  ['minLength', STRING],
  ['maxLength', STRING],
  ['arrayMinSize', LIST],
  ['arrayMaxSize', LIST],
  ['arrayUnique', LIST],
]);

const EACH = 'each value in ';

/**
 * Returns the message for a field that violates `rule`. Rules about the size are checked first, so that the other rules
 * get only small values. They also reject absent values and values of a wrong type, so the message must name that error and not
 * the size. For an element of a list, the property is its index, so the message contains its `path`.
 */
function fieldMessage({ property, value }: ValidationError, rule: string, message: string, path = property): string {
  const given: unknown = value;
  if (given === undefined) return `${property} is required`;
  const isElement = /^\d+$/.test(property);
  if (rule === 'nestedValidation' && (isElement || !message.startsWith(EACH))) return `${path} must be an object`;
  const each = message.startsWith(EACH);
  if (each && !LIST.includes(given)) return `${property} must be ${LIST.name}`;
  const type = NEEDED_TYPES.get(rule);
  const values = each ? (given as unknown[]) : [given];
  if (type && !values.every(type.includes)) return `${each ? EACH : ''}${property} must be ${type.name}`;
  return rule === 'arrayUnique' ? `${property} must not contain the same element twice` : message;
}

type Storage = ReturnType<typeof getMetadataStorage>;
type Rules = ReturnType<Storage['getTargetValidationMetadatas']>;

/**
 * Makes class-validator keep the rules of each DTO. Otherwise, it collects the rules from all classes for every object it checks.
 * The rules of a class do not change after its decorators have run. Lookups with groups or a schema are not kept. See ADR 4.
 */
export function keepValidationRules(storage: Storage): void {
  const collect = storage.getTargetValidationMetadatas.bind(storage);
  const group = storage.groupByPropertyName.bind(storage);
  const rulesOf = new WeakMap<object, Rules>();
  const groupsOf = new WeakMap<Rules, ReturnType<typeof group>>();
  storage.getTargetValidationMetadatas = (target, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups) return collect(target, schema, always, strictGroups, groups);
    return kept(rulesOf, target, () => collect(target, schema, always, strictGroups));
  };
  storage.groupByPropertyName = (rules) => kept(groupsOf, rules, () => group(rules));
}

function kept<Key extends object, Value>(values: WeakMap<Key, Value>, key: Key, create: () => Value): Value {
  const known = values.get(key);
  if (known !== undefined) return known;
  const created = create();
  values.set(key, created);
  return created;
}
