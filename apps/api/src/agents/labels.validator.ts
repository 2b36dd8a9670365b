import { registerDecorator } from 'class-validator';

const KEY = /^[\w./-]{1,63}$/;
const LONGEST_VALUE = 256;
const MOST = 64;

export const LABELS_RULE = `Up to ${MOST} pairs of text: keys of 1 to 63 of A-Z a-z 0-9 _ . / -, values of up to ${LONGEST_VALUE} characters.`;

export function IsLabels(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isLabels',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: { validate: isLabels, defaultMessage: () => `labels: ${LABELS_RULE}` },
    });
}

function isLabels(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const pairs = Object.entries(value);
  return (
    pairs.length <= MOST &&
    pairs.every(([key, text]) => KEY.test(key) && typeof text === 'string' && text.length <= LONGEST_VALUE)
  );
}
