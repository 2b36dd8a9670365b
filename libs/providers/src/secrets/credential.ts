import { z } from 'zod';
import { ProviderError } from '../errors.js';
import { EnvName, type Secret, type SecretSource } from './secret.js';

/**
 * Headers that control the request or describe its body. A key in one of them would break the request or change its
 * meaning.
 */
const RESERVED_HEADERS =
  /^(host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-.*|accept.*|a2a-.*|idempotency-key|rollcall-.*|proxy-.*|sec-.*)$/i;

/** A key to send with each request, by the name of its environment variable. */
export const CredentialSchema = z.strictObject({
  env: EnvName,
  header: z
    .string()
    .regex(/^[a-z0-9-]{1,100}$/i)
    .refine((name) => !RESERVED_HEADERS.test(name), 'a key cannot be sent in this header')
    .default('authorization'),
  /** The authentication scheme before the key. */
  scheme: z
    .string()
    .regex(/^[\w-]{0,50}$/, 'must be one word, such as Bearer')
    .default('Bearer'),
});

export type CredentialSettings = z.output<typeof CredentialSchema>;

export interface Credential {
  secret: Secret;
  /** Adds the key, but only to requests to the configured origin, because a card may contain URLs of other origins. */
  fetch: typeof fetch;
}

export function withCredential(
  inner: typeof fetch,
  { url, settings, secrets }: { url: string; settings: CredentialSettings; secrets: SecretSource },
): Credential {
  const { origin } = new URL(url);
  const secret = secrets(settings.env, origin);
  if (!secret) throw unusable(settings.env, `is not set, or the operator does not allow it for ${origin}.`);
  if (!secret.fitsHeader)
    throw unusable(settings.env, 'cannot be sent in a header: check it for a line break or a space at the end.');
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
