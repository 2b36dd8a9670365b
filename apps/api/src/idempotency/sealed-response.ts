import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const SALT = 16;
const IV = 12;
const TAG = 16;

/**
 * The key material of an encrypted response. An Idempotency-Key may be easy to guess, and its hash is stored with the response,
 * so the key material also contains a secret that is not in the database.
 */
export interface Seal {
  idempotencyKey: string;
  secret: string;
}

/** Encrypts a response, which may contain a secret that is shown only once. The database alone does not reveal it. */
export function seal(response: string, by: Seal): Buffer {
  const salt = randomBytes(SALT);
  const iv = randomBytes(IV);
  const cipher = createCipheriv(CIPHER, derive(by, salt), iv);
  const text = Buffer.concat([cipher.update(response, 'utf8'), cipher.final()]);
  return Buffer.concat([salt, iv, cipher.getAuthTag(), text]);
}

/** Decrypts a response. Returns undefined when none of the seals encrypted it. */
export function unseal(sealed: Buffer, seals: readonly Seal[]): string | undefined {
  for (const by of seals) {
    const text = tryToOpen(sealed, by);
    if (text !== undefined) return text;
  }
  return undefined;
}

function tryToOpen(sealed: Buffer, by: Seal): string | undefined {
  const salt = sealed.subarray(0, SALT);
  const iv = sealed.subarray(SALT, SALT + IV);
  const decipher = createDecipheriv(CIPHER, derive(by, salt), iv);
  decipher.setAuthTag(sealed.subarray(SALT + IV, SALT + IV + TAG));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(SALT + IV + TAG)), decipher.final()]).toString('utf8');
  } catch {
    return undefined; // the authentication tag does not match: another seal was used
  }
}

/** An Idempotency-Key contains no line break, so two different pairs never give the same text. */
function derive({ idempotencyKey, secret }: Seal, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', `${idempotencyKey}\n${secret}`, salt, 'rollcall idempotency 2', 32));
}
