import type { InputCheck, OutputCheck } from 'rollcall/plugin';

/** Rejects a message before any model reads it. */
export const noCardNumbers: InputCheck = (text) =>
  /\b\d{16}\b/.test(text) ? { reject: 'it contains the number of a card' } : undefined;

/** Rejects an answer; `{ replace: … }` would change it. */
export const noPasswords: OutputCheck = (text) =>
  /password/i.test(text) ? { reject: 'it contains a password' } : undefined;
