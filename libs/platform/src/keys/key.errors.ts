import { PlatformError } from '../errors.js';

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
