import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const SALT = 16;
const IV = 12;
const TAG = 16;

/**
 * What an answer is sealed with. An Idempotency-Key may be easy to guess, and its hash is stored beside the answer, so a
 * secret that is not in the database is part of the seal.
 */
export interface Seal {
  idempotencyKey: string;
  secret: string;
}

/** An answer may hold a secret that is shown once. Sealed like this, a reader of the database cannot read it. */
export function seal(answer: string, by: Seal): Buffer {
  const salt = randomBytes(SALT);
  const iv = randomBytes(IV);
  const cipher = createCipheriv(CIPHER, derive(by, salt), iv);
  const text = Buffer.concat([cipher.update(answer, 'utf8'), cipher.final()]);
  return Buffer.concat([salt, iv, cipher.getAuthTag(), text]);
}

/** Undefined when none of the seals is the one that the answer was sealed with. */
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
    return undefined; // the tag does not fit: it was sealed with something else
  }
}

/** An Idempotency-Key has no line break, so that no two pairs make the same text. */
function derive({ idempotencyKey, secret }: Seal, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', `${idempotencyKey}\n${secret}`, salt, 'rollcall idempotency 2', 32));
}
