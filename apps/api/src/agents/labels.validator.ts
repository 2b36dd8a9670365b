import { registerDecorator } from 'class-validator';
import { MAX_LABELS } from '#rollcall/registry';

const KEY = /^[\w./-]{1,63}$/;
const LONGEST_VALUE = 256;

export const LABELS_RULE = `Up to ${MAX_LABELS} pairs of text: keys of 1 to 63 of A-Z a-z 0-9 _ . / -, values of up to ${LONGEST_VALUE} characters.`;

export function IsLabels(): PropertyDecorator {
  return labelsRule('isLabels', (text) => isValue(text));
}

/** As labels, where null takes one away. */
export function IsLabelChanges(): PropertyDecorator {
  return labelsRule('isLabelChanges', (text) => text === null || isValue(text));
}

function labelsRule(name: string, isRight: (value: unknown) => boolean): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(propertyName),
      validator: {
        validate: (value: unknown) => areLabels(value, isRight),
        defaultMessage: () => `labels: ${LABELS_RULE}`,
      },
    });
}

function areLabels(value: unknown, isRight: (value: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const pairs = Object.entries(value);
  return pairs.length <= MAX_LABELS && pairs.every(([key, text]) => isKey(key) && isRight(text));
}

/** A name that every object inherits would be found in every record, and lost on the way to it. */
function isKey(key: string): boolean {
  return KEY.test(key) && !(key in Object.prototype);
}

function isValue(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_VALUE;
}
