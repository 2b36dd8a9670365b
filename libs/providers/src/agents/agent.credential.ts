import { z } from 'zod';
import { ProviderError } from '../errors.js';
import type { Secret, SecretSource } from '../secret.js';

/** A key to send along, by the name of its environment variable. */
export const CredentialSchema = z.strictObject({
  env: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  header: z
    .string()
    .regex(/^[a-z0-9-]+$/i)
    .default('authorization'),
  /** What the header says before the key. */
  scheme: z.string().max(50).default('Bearer'),
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
  const secret = secrets(settings.env);
  if (!secret)
    throw new ProviderError('AGENT_SETTINGS_INVALID', `The credential ${settings.env} is not set, or may not be used.`);
  const { origin } = new URL(url);
  const value = [settings.scheme, secret.reveal()].filter(Boolean).join(' ');
  const guarded: typeof fetch = async (input, init = {}) => {
    const target = new URL(input instanceof Request ? input.url : input);
    if (target.origin !== origin) return await inner(input, init);
    const headers = new Headers(init.headers);
    headers.set(settings.header, value);
    return await inner(input, { ...init, headers });
  };
  return { secret, fetch: guarded };
}
