import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '#rollcall/providers';

const PREFIX = 'whsec_';
const BYTES = 32;

/** As Standard Webhooks write a shared secret. */
export function newWebhookSecret(): Secret {
  return new Secret(PREFIX + randomBytes(BYTES).toString('base64'));
}

/** The three headers of Standard Webhooks. With several secrets there are several signatures; one that fits is enough. */
export function signedHeaders(
  id: string,
  seconds: number,
  body: string,
  secrets: readonly Secret[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') };
}
