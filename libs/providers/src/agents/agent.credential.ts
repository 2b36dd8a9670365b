import { z } from 'zod';
import { ProviderError } from '../errors.js';
import type { Secret, SecretSource } from '../secret.js';

/** They frame the request or say what it holds; a key in one of them would break it, or worse. */
const NOT_FOR_KEYS =
  /^(host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-.*|accept.*|a2a-.*|idempotency-key|proxy-.*|sec-.*)$/i;

/** A key to send along, by the name of its environment variable. */
export const CredentialSchema = z.strictObject({
  env: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  header: z
    .string()
    .regex(/^[a-z0-9-]{1,100}$/i)
    .refine((name) => !NOT_FOR_KEYS.test(name), 'a key cannot be sent in this header')
    .default('authorization'),
  /** What the header says before the key. */
  scheme: z
    .string()
    .regex(/^[\w-]{0,50}$/, 'one word, such as Bearer')
    .default('Bearer'),
});

export type CredentialSettings = z.output<typeof CredentialSchema>;

export interface Credential {
  secret: Secret;
  /** The same fetch, with the key, but only towards the origin it was meant for: a card may name any other. */
  fetch: typeof fetch;
}

export function withCredential(
  inner: typeof fetch,
  { url, settings, secrets }: { url: string; settings: CredentialSettings; secrets: SecretSource },
): Credential {
  const { origin } = new URL(url);
  const secret = secrets(settings.env, origin);
  if (!secret) throw unusable(settings.env, `is not set, or may not be sent to ${origin}.`);
  if (!secret.fitsHeader)
    throw unusable(settings.env, 'cannot be sent in a header: look for a line break or a space at its end.');
  const guarded: typeof fetch = async (input, init = {}) => {
    const target = new URL(input instanceof Request ? input.url : input);
    if (target.origin !== origin) return await inner(input, init);
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.set(settings.header, [settings.scheme, secret.reveal()].filter(Boolean).join(' '));
    return await inner(input, { ...init, headers });
  };
  return { secret, fetch: guarded };
}

function unusable(env: string, why: string): ProviderError {
  return new ProviderError('AGENT_SETTINGS_INVALID', `The credential ${env} ${why}`);
}
