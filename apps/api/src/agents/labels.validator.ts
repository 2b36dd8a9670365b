import { registerDecorator } from 'class-validator';
import { MAX_LABELS } from '#rollcall/registry';

const KEY = /^[\w./-]{1,63}$/;
const MAX_VALUE_LENGTH = 256;

export const LABELS_RULE = `Up to ${MAX_LABELS} labels. A key has 1 to 63 characters of A-Z a-z 0-9 _ . / -, and a value has up to ${MAX_VALUE_LENGTH} characters.`;

export function IsLabels(): PropertyDecorator {
  return labelsRule('isLabels', (text) => isValue(text));
}

/** Validates changes of labels. The value null removes a label. */
export function IsLabelChanges(): PropertyDecorator {
  return labelsRule('isLabelChanges', (text) => text === null || isValue(text));
}

function labelsRule(name: string, isValid: (value: unknown) => boolean): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(propertyName),
      validator: {
        validate: (value: unknown) => areLabels(value, isValid),
        defaultMessage: () => `labels: ${LABELS_RULE}`,
      },
    });
}

function areLabels(value: unknown, isValid: (value: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const pairs = Object.entries(value);
  return pairs.length <= MAX_LABELS && pairs.every(([key, text]) => isKey(key) && isValid(text));
}

/** Rejects names that every object inherits, such as `toString`: every agent would seem to have a label with that name. */
function isKey(key: string): boolean {
  return KEY.test(key) && !(key in Object.prototype);
}

function isValue(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_VALUE_LENGTH;
}
