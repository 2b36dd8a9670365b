import { createHash, randomBytes } from 'node:crypto';
import { PlatformError } from '../errors.js';

/** An installation always keeps at least one permanent key with this role. */
export const ADMIN_ROLE = 'admin';

/** How the key was created: `issued` over REST, at the `first-start`, or from the `environment`. */
export type KeySource = 'issued' | 'first-start' | 'environment';

const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
const ID_LENGTH = 10;

interface NewSecret {
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

export class KeyNotFoundError extends PlatformError {
  readonly code = 'KEY_NOT_FOUND';

  constructor(id: string) {
    super(`No API key has the id "${id}". GET /v1/keys lists the keys.`);
  }
}

export class KeyRevokedError extends PlatformError {
  readonly code = 'KEY_REVOKED';

  constructor(id: string, at: Date) {
    super(`The API key "${id}" was revoked at ${at.toISOString()}. Issue a new key.`);
  }
}

export class KeyNotActiveError extends PlatformError {
  readonly code = 'KEY_NOT_ACTIVE';

  /** `why` completes the sentence 'The API key "…" …'. */
  constructor(id: string, why: string) {
    super(`The API key "${id}" ${why}. Issue a new key, or rotate the key that is in use.`);
  }
}

export class KeyFromEnvironmentError extends PlatformError {
  readonly code = 'KEY_FROM_ENVIRONMENT';

  constructor() {
    super('This key comes from ROLLCALL_ADMIN_KEY. To replace or revoke it, change the variable and restart.');
  }
}

export class LastAdminKeyError extends PlatformError {
  readonly code = 'LAST_ADMIN_KEY';

  constructor() {
    super(
      'This is the last permanent admin key for all namespaces. First issue another key that does not expire: ' +
        '{"name": …, "roles": ["admin"], "namespace": "*"}.',
    );
  }
}
