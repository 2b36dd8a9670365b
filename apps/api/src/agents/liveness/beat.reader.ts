import { qualifiedId } from '#rollcall/platform';
import { hashOfToken, type Heartbeat, type LeaseCredential } from '#rollcall/registry';
import type { FieldError } from '../../http/problems/api.error.js';
import { shortName, unknownField, validationFailed } from '../../http/validation/validation.errors.js';

/** Returns an error message, or undefined when the value is valid. */
type Rule = (value: unknown) => string | undefined;

interface Beat {
  generation: number;
  inFlight?: number;
  load?: number;
  latencyMs?: number;
  usedTokens?: number;
}

interface BatchBeat extends Beat {
  agentId: string;
  leaseToken: string;
}

interface InvalidBeat {
  /** The position of the heartbeat in the request. */
  index: number;
  agentId: string;
  detail: string;
}

/** The valid heartbeats of a batch in their order, and the invalid ones. */
interface BeatBatch {
  beats: Heartbeat[];
  invalid: InvalidBeat[];
}

const MAX_BEATS = 1_000;
/** The response names at most this many errors of one heartbeat. */
const MAX_REPORTED = 3;

const BEAT_RULES: Record<keyof Beat, Rule> = {
  generation: whole(1, Number.MAX_SAFE_INTEGER),
  inFlight: optional(whole(0, 1e6)),
  load: optional(numeric(0, 1_000)),
  latencyMs: optional(numeric(0, 1e9)),
  usedTokens: optional(whole(0, Number.MAX_SAFE_INTEGER)),
};
const BATCH_BEAT_RULES: Record<keyof BatchBeat, Rule> = { ...BEAT_RULES, agentId: text(128), leaseToken: text(200) };
const CREDENTIAL_RULES: Record<'agentId' | 'generation', Rule> = {
  agentId: text(128),
  generation: BEAT_RULES.generation,
};
const BATCH_RULES: Record<'beats', Rule> = { beats: list(MAX_BEATS) };

/**
 * Validates a heartbeat without class-validator, because class-validator would cost more than the rest of the processing, and tens of
 * thousands of heartbeats arrive each second. The error format is the same.
 */
export function readBeat(agentId: string, body: unknown, tokenHash: string | null): Heartbeat {
  const errors = errorsOf(body, BEAT_RULES, '');
  if (errors.length > 0) throw validationFailed(errors);
  return toHeartbeat(agentId, body as Beat, tokenHash);
}

/** Reads the credential of an agent from the URL of its socket. */
export function readCredential(
  agentId: string | null,
  generation: string | null,
  tokenHash: string | null,
): LeaseCredential {
  const credential = { agentId, generation: generation === null ? null : Number(generation) };
  const errors = errorsOf(credential, CREDENTIAL_RULES, '');
  if (errors.length > 0) throw validationFailed(errors);
  return { ...(credential as { agentId: string; generation: number }), tokenHash };
}

/** Throws if the body has no list of heartbeats. An invalid heartbeat does not affect the others. The result has qualified ids. */
export function readBatch(body: unknown, namespace: string): BeatBatch {
  const outer = errorsOf(body, BATCH_RULES, '');
  if (outer.length > 0) throw validationFailed(outer);
  const batch: BeatBatch = { beats: [], invalid: [] };
  for (const [index, beat] of (body as { beats: BatchBeat[] }).beats.entries()) {
    const errors = errorsOf(beat, BATCH_BEAT_RULES, '');
    if (errors.length > 0) batch.invalid.push(toInvalidBeat(index, beat, errors));
    else batch.beats.push(toHeartbeat(qualifiedId(namespace, beat.agentId), beat, hashOfToken(beat.leaseToken)));
  }
  return batch;
}

/** `beat` can be any JSON value, because it is invalid. */
function toInvalidBeat(index: number, beat: unknown, errors: readonly FieldError[]): InvalidBeat {
  const { agentId } = (beat ?? {}) as { agentId?: unknown };
  const messages = errors.slice(0, MAX_REPORTED).map(({ message }) => message);
  return {
    index,
    agentId: typeof agentId === 'string' ? shortName(agentId) : '',
    detail: `Please correct this heartbeat: ${messages.join('; ')}.`,
  };
}

function toHeartbeat(agentId: string, beat: Beat, tokenHash: string | null): Heartbeat {
  const { generation, inFlight, load, latencyMs, usedTokens } = beat;
  return {
    agentId,
    generation,
    tokenHash,
    inFlight: inFlight ?? undefined,
    loadRatio: load ?? undefined,
    reportedMs: latencyMs ?? undefined,
    usedTokens: usedTokens ?? undefined,
  };
}

const NONE: readonly FieldError[] = [];

function errorsOf(body: unknown, rules: Record<string, Rule>, path: string): readonly FieldError[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return [{ field: path.slice(0, -1) || 'body', message: `must be an object with ${Object.keys(rules).join(', ')}` }];
  }
  const values = body as Record<string, unknown>;
  let errors: FieldError[] | undefined;
  for (const name in rules) {
    const message = rules[name]?.(values[name]);
    if (message) (errors ??= []).push({ field: path + name, message: `${name} ${message}` });
  }
  for (const name in values) {
    if (!Object.hasOwn(rules, name)) (errors ??= []).push(unknownField(path, name, () => Object.keys(rules)));
  }
  return errors ?? NONE;
}

function optional(rule: Rule): Rule {
  return (value) => (value === undefined || value === null ? undefined : rule(value));
}

function whole(min: number, max: number): Rule {
  const message = `must be a whole number from ${min} to ${max}`;
  return (value) => (Number.isInteger(value) && between(value as number, min, max) ? undefined : message);
}

function numeric(min: number, max: number): Rule {
  const message = `must be a number from ${min} to ${max}`;
  return (value) => (typeof value === 'number' && between(value, min, max) ? undefined : message);
}

function between(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

function text(longest: number): Rule {
  const message = `must be a text of 1 to ${longest} characters without NUL`;
  const isValid = (value: string): boolean => between(value.length, 1, longest) && !value.includes('\0');
  return (value) => (typeof value === 'string' && isValid(value) ? undefined : message);
}

function list(longest: number): Rule {
  const message = `must be a list of 1 to ${longest} elements`;
  return (value) => (Array.isArray(value) && between(value.length, 1, longest) ? undefined : message);
}
