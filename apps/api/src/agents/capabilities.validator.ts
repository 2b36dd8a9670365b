import { registerDecorator } from 'class-validator';
import { capabilityKeys, capabilityFault, MAX_CAPABILITY_KEYS, normaliseCapability } from '#rollcall/registry';

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
