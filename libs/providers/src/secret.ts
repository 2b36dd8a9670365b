import { inspect } from 'node:util';

const HIDDEN = '[secret]';
/** Shorter ones would cut holes into ordinary words. */
const LEAST_HIDEABLE = 4;

/** A key on its way to a vendor. Printed, logged or serialised it says nothing; only `reveal` gives it out. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** Whether it can be sent in a header at all: a line break, such as a file ends with, cannot. */
  get fitsHeader(): boolean {
    return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(this.#value);
  }

  /** The same text without this secret in it: vendors quote the key they refuse, also as JSON, in a URL or in base64. */
  hideIn(text: string): string {
    if (this.#value.length < LEAST_HIDEABLE) return text;
    return [...spellings(this.#value)].reduce((hidden, spelling) => hidden.replaceAll(spelling, HIDDEN), text);
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

function spellings(value: string): Set<string> {
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
 * Finds a key by the name of its environment variable. Which names may be asked for is the operator's decision, and so is
 * where each may be sent: `origin` is the address that a definition wants it to go to.
 */
export type SecretSource = (name: string, origin?: string) => Secret | undefined;

export function hideAll(text: string, secrets: readonly (Secret | undefined)[]): string {
  return secrets.reduce<string>((hidden, secret) => secret?.hideIn(hidden) ?? hidden, text);
}

/** The same JSON, with `hide` done to every text in it, names included; numbers and the like stay what they are. */
export function hideDeep(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) return value.map((one) => hideDeep(one, hide));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [hide(name), hideDeep(one, hide)]));
}
