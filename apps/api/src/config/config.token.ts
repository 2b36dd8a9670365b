/** Injection token of the parsed, frozen configuration. */
export const CONFIG = Symbol('config');
