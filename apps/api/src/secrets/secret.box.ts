import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Secret } from '#rollcall/providers';

const CIPHER = 'aes-256-gcm';
const ID = 4;
const IV = 12;
const TAG = 16;

interface SealingKey {
  /** Identifies the key that encrypted a secret, and reveals nothing about the key. */
  id: Buffer;
  key: Buffer;
}

/**
 * Encrypts (seals) secrets that must be read again. A secret that is sealed for one owner cannot be opened for another, so an
 * attacker cannot swap rows. The first key seals, and all keys open.
 */
export class SecretBox {
  private readonly keys: SealingKey[];

  constructor(keys: readonly string[]) {
    this.keys = keys.map((text) => ({ id: derive(text, 'id', ID), key: derive(text, 'key', 32) }));
  }

  get isUsable(): boolean {
    return this.keys.length > 0;
  }

  seal(secret: Pick<Secret, 'reveal'>, owner: string): Buffer {
    const [first] = this.keys;
    if (!first) throw new Error('there is no sealing key');
    const iv = randomBytes(IV);
    const cipher = createCipheriv(CIPHER, first.key, iv).setAAD(Buffer.from(owner));
    const text = Buffer.concat([cipher.update(secret.reveal(), 'utf8'), cipher.final()]);
    return Buffer.concat([first.id, iv, cipher.getAuthTag(), text]);
  }

  open(sealed: Buffer, owner: string): Secret {
    const sealing = this.keys.find(({ id }) => id.equals(sealed.subarray(0, ID)));
    if (!sealing)
      throw new Error(`the secret of ${owner} was sealed with a key that ROLLCALL_SEALING_KEY no longer contains`);
    const rest = sealed.subarray(ID);
    const decipher = createDecipheriv(CIPHER, sealing.key, rest.subarray(0, IV)).setAAD(Buffer.from(owner));
    decipher.setAuthTag(rest.subarray(IV, IV + TAG));
    return new Secret(Buffer.concat([decipher.update(rest.subarray(IV + TAG)), decipher.final()]).toString('utf8'));
  }
}

function derive(text: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', text, '', `rollcall sealing ${purpose}`, length));
}
