import { applyDecorators } from '@nestjs/common';
import { IsInt, IsString, Length, Matches, Max, Min, registerDecorator, ValidateIf } from 'class-validator';
import {
  capabilityKeys,
  capabilityFault,
  MAX_CAPABILITY_KEYS,
  MAX_LABELS,
  normaliseCapability,
} from '#rollcall/registry';

/** The rules for fields that an agent declares when it registers and may update later. */
export const IsAgentName = (): PropertyDecorator =>
  applyDecorators(Length(1, 200), IsString(), Matches(/\S/, { message: 'name must not be blank' }));
export const IsEndpoint = (): PropertyDecorator => applyDecorators(Length(1, 2_000), IsString());
export const IsSandboxLevel = (): PropertyDecorator => applyDecorators(Max(100), Min(0), IsInt());
export const IsCapacity = (): PropertyDecorator => applyDecorators(Max(1e6), Min(1), IsInt());
export const IsDeclaredLatency = (): PropertyDecorator => applyDecorators(Max(1e9), Min(0), IsInt());
export const IsTypicalTokens = (): PropertyDecorator => applyDecorators(Max(1e9), Min(1), IsInt());
export const TYPICAL_TOKENS_RULE =
  'How many tokens a call usually needs. A budget reserves this for each call, and is charged this if the agent reports no usage.';
export const IsAgentVersion = (): PropertyDecorator => applyDecorators(Length(1, 100), IsString());

interface WithCard {
  readonly name?: unknown;
  readonly capabilities?: unknown;
  readonly agentCard?: object | null;
  readonly cardUrl?: string;
}

/** The field is required unless the registration has a card, which then supplies the value. */
export function UnlessCard(field: 'name' | 'capabilities'): PropertyDecorator {
  return ValidateIf(({ [field]: value, agentCard, cardUrl }: WithCard) => {
    const hasCard = (agentCard !== undefined && agentCard !== null) || cardUrl !== undefined;
    return value !== undefined || !hasCard;
  });
}

const MAX_CLAIMS = 200;

export const CAPABILITIES_RULE =
  `1 to ${MAX_CLAIMS} capabilities with at most ${MAX_CAPABILITY_KEYS} entries in the hierarchy: \`code.build.rust\` ` +
  'has three entries, `code.build.rust`, `code.build` and `code`; shared entries count once. A capability has no comma.';

/** The capabilities of an agent. Two spellings of the same capability are rejected. */
export function IsCapabilities(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isCapabilities',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: {
        validate: (value: unknown) => errorOf(value) === undefined,
        defaultMessage: (details) => errorOf(details?.value) ?? '',
      },
    });
}

/** Lengths are checked first, so that the later rules process only short lists and texts. */
function errorOf(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_CLAIMS)
    return `capabilities must be a list of 1 to ${MAX_CLAIMS} elements`;
  return value.map(capabilityFault).find((error) => error !== undefined) ?? errorOfAll(value as string[]);
}

function errorOfAll(claims: string[]): string | undefined {
  if (new Set(claims.map(normaliseCapability)).size < claims.length)
    return 'capabilities must not contain the same capability twice, even with another spelling';
  const entries = capabilityKeys(claims).length;
  if (entries <= MAX_CAPABILITY_KEYS) return undefined;
  return (
    `capabilities have ${entries} entries in the hierarchy, and at most ${MAX_CAPABILITY_KEYS} are allowed: ` +
    'send fewer capabilities, or capabilities with fewer levels (code.build.rust has three entries)'
  );
}

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
