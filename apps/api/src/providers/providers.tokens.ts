/** Finds a key in the environment; what it may be used for, the Keyring decides. */
export const SECRETS = Symbol('SECRETS');
