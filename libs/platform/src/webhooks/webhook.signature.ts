import { createHmac, randomBytes } from 'node:crypto';

/** A secret that does not appear in logs or JSON. Only `reveal` returns its text. */
export interface SigningSecret {
  reveal(): string;
}

/** Encrypts the signing secrets of webhooks for the database. The application provides the implementation. */
export abstract class WebhookSecrets {
  /** A secret that is encrypted for one owner cannot be decrypted for another owner. */
  abstract seal(secret: SigningSecret, owner: string): Buffer;
  abstract open(sealed: Buffer, owner: string): SigningSecret;
}

const PREFIX = 'whsec_';
const BYTES = 32;

/** Creates a secret in the format of Standard Webhooks. */
export function newWebhookSecret(): SigningSecret {
  const text = PREFIX + randomBytes(BYTES).toString('base64');
  return { reveal: () => text };
}

/** Returns the three headers of Standard Webhooks. Each secret adds one signature; a receiver accepts any of them. */
export function signedHeaders(
  id: string,
  seconds: number,
  body: string,
  secrets: readonly SigningSecret[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') };
}
