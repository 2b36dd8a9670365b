import { inspect } from 'node:util';
import { z } from 'zod';

const REDACTED = '[secret]';
/** Shorter secrets are not redacted, because they may be part of ordinary words. */
const MIN_REDACTED_LENGTH = 4;

/**
 * A key of a vendor or agent. When it is printed, logged or serialised, its value does not appear. Only `reveal`
 * returns the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** Whether the key can be sent in a header. A key that was read from a file may end with a line break and cannot be sent. */
  get fitsHeader(): boolean {
    return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(this.#value);
  }

  /** Replaces this secret in a text. Vendors may quote a rejected key, sometimes as JSON, URL-encoded or in Base64. */
  redactIn(text: string): string {
    if (this.#value.length < MIN_REDACTED_LENGTH) return text;
    return [...encodings(this.#value)].reduce((redacted, encoding) => redacted.replaceAll(encoding, REDACTED), text);
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

function encodings(value: string): Set<string> {
  const bytes = Buffer.from(value);
  const base64 = bytes.toString('base64').replace(/={1,2}$/, '');
  return new Set([
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    base64,
    bytes.toString('base64url'),
  ]);
}

/**
 * Finds a key by the name of its environment variable. The operator decides which keys may be used, and to which
 * origins each may be sent. `origin` is the origin that a definition wants to send the key to.
 */
export type SecretSource = (name: string, origin?: string) => Secret | undefined;

export function redactAll(text: string, secrets: readonly (Secret | undefined)[]): string {
  return secrets.reduce<string>((redacted, secret) => secret?.redactIn(redacted) ?? redacted, text);
}

/** Applies `redact` to all texts of a JSON value, including the names of properties. */
export function redactDeep(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((one) => redactDeep(one, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [redact(name), redactDeep(one, redact)]));
}

/** The name of an environment variable that contains a key. The key itself is read for each call and not stored. */
export const EnvName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, 'must be the name of an environment variable, such as MY_API_KEY');
