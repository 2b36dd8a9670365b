import { registerDecorator } from 'class-validator';

const MAX_LEVEL = 100;

const LEVELS = `a whole number from 0 to ${MAX_LEVEL}, or an object with min, max or both, where min <= max`;

export const LEVELS_RULE = `The level: ${LEVELS}.`;

/** A level, or a range of levels that is not empty. */
export function IsLevels(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isLevels',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: { validate: areLevels, defaultMessage: (context) => `${context?.property} must be ${LEVELS}` },
    });
}

function areLevels(value: unknown): boolean {
  if (isLevel(value)) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { min = 0, max = MAX_LEVEL, ...others } = value as { min?: unknown; max?: unknown };
  const known = Object.keys(value).length > 0 && Object.keys(others).length === 0;
  return known && isLevel(min) && isLevel(max) && min <= max;
}

function isLevel(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_LEVEL;
}
