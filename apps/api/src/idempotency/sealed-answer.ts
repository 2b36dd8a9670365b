import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const SALT = 16;
const IV = 12;
const TAG = 16;

/** An answer may hold a secret that is shown once. Sealed like this, only the client that repeats its request can read it. */
export function seal(answer: string, key: string): Buffer {
  const salt = randomBytes(SALT);
  const iv = randomBytes(IV);
  const cipher = createCipheriv(CIPHER, derive(key, salt), iv);
  const text = Buffer.concat([cipher.update(answer, 'utf8'), cipher.final()]);
  return Buffer.concat([salt, iv, cipher.getAuthTag(), text]);
}

export function unseal(sealed: Buffer, key: string): string {
  const salt = sealed.subarray(0, SALT);
  const iv = sealed.subarray(SALT, SALT + IV);
  const decipher = createDecipheriv(CIPHER, derive(key, salt), iv);
  decipher.setAuthTag(sealed.subarray(SALT + IV, SALT + IV + TAG));
  return Buffer.concat([decipher.update(sealed.subarray(SALT + IV + TAG)), decipher.final()]).toString('utf8');
}

function derive(key: string, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, 'rollcall idempotency', 32));
}
