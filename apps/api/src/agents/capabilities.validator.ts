import { registerDecorator } from 'class-validator';
import { capabilityKeys, MAX_CAPABILITY_KEYS, normaliseCapability } from '#rollcall/registry';

const MOST_CLAIMS = 200;
const LONGEST_CLAIM = 100;
/** An agent stands in the index under every level of every claim. */
const MOST_LEVELS = 16;
/** Nothing that is only punctuation, or has it at its ends: its normal form would be another, or none. */
const CLAIM = /^[^\s._\p{Cc}](?:\P{Cc}*[^\s._\p{Cc}])?$/u;

export const CAPABILITIES_RULE =
  `1 to ${MOST_CLAIMS}, which together have at most ${MAX_CAPABILITY_KEYS} entries in the hierarchy: ` +
  '`code.build.rust` has three, `code.build.rust`, `code.build` and `code`; shared ones count once.';

/** What an agent may claim: each once, however it is spelled. */
export function IsCapabilities(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isCapabilities',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: {
        validate: (value: unknown) => faultOf(value) === undefined,
        defaultMessage: (details) => faultOf(details?.value) ?? '',
      },
    });
}

/** Lengths first: the later rules are run on lists and texts that are known to be short. */
function faultOf(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length < 1 || value.length > MOST_CLAIMS)
    return `capabilities must be a list of 1 to ${MOST_CLAIMS}`;
  return value.map(faultOfClaim).find((fault) => fault !== undefined) ?? faultOfAll(value as string[]);
}

function faultOfClaim(claim: unknown): string | undefined {
  if (typeof claim !== 'string' || claim.length < 1 || claim.length > LONGEST_CLAIM || !CLAIM.test(claim))
    return `each capability must have 1 to ${LONGEST_CLAIM} characters, no control character, and no dot, blank or underscore at its ends`;
  if (claim.split('.').length > MOST_LEVELS) return `each capability may have ${MOST_LEVELS} levels at the most`;
  return undefined;
}

function faultOfAll(claims: string[]): string | undefined {
  if (new Set(claims.map(normaliseCapability)).size < claims.length)
    return 'capabilities must each be there once, however they are spelled';
  const entries = capabilityKeys(claims).length;
  if (entries <= MAX_CAPABILITY_KEYS) return undefined;
  return (
    `capabilities have ${entries} entries in the hierarchy together, and ${MAX_CAPABILITY_KEYS} are allowed: ` +
    'claim fewer, or with fewer levels (code.build.rust has three entries)'
  );
}
