import { RegistryError } from '../errors.js';

/** `prefer` names a strategy nobody registered. */
export class UnknownStrategyError extends RegistryError {
  readonly code = 'UNKNOWN_STRATEGY';

  constructor(asked: string, known: readonly string[]) {
    super(`There is no strategy "${asked.slice(0, 60)}". Set prefer to one of: ${known.join(', ')}.`);
  }
}

/** The query contradicts itself or asks for more than one answer holds. */
export class InvalidQueryError extends RegistryError {
  readonly code = 'INVALID_QUERY';
}

/** The operator's aliases cannot all hold. Thrown when they are configured, never by a query. */
export class CapabilityAliasError extends RegistryError {
  readonly code = 'INVALID_CAPABILITY_ALIAS';

  constructor(fault: string) {
    super(`The capability aliases cannot be used: ${fault}. Let every alias end in a capability that agents claim.`);
  }
}

/** This replica was frozen or cut off from the log, and could not catch up in time. */
export class DirectoryStaleError extends RegistryError {
  readonly code = 'DIRECTORY_STALE';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super(
      'This replica has not followed the registry for some seconds, so its answer could name agents that have left. ' +
        'Try again in a moment, at another replica, or with consistency "strong".',
    );
  }
}
