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

  /** The same text without this secret in it: vendors quote the key they refuse. */
  hideIn(text: string): string {
    return this.#value.length < LEAST_HIDEABLE ? text : text.replaceAll(this.#value, HIDDEN);
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

/** Finds a key by the name of its environment variable. Which names may be asked for is the operator's decision. */
export type SecretSource = (name: string) => Secret | undefined;

export function hideAll(text: string, secrets: readonly (Secret | undefined)[]): string {
  return secrets.reduce<string>((hidden, secret) => secret?.hideIn(hidden) ?? hidden, text);
}
