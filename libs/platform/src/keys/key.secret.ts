import { createHash, randomBytes } from 'node:crypto';

const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const ID_LENGTH = 10;

export interface NewSecret {
  /** Public. It is part of the key, so that a leaked key can be identified and revoked. */
  id: string;
  key: string;
  hash: Buffer;
}

export function newSecret(): NewSecret {
  const id = [...randomBytes(ID_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('');
  const key = `rk_${id}_${randomBytes(32).toString('base64url')}`;
  return { id, key, hash: hashOf(key) };
}

export function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
