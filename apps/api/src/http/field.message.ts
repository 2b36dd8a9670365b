import type { ValidationError } from '@nestjs/common';

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
export function fieldMessage(
  { property, value }: ValidationError,
  rule: string,
  message: string,
  path = property,
): string {
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
