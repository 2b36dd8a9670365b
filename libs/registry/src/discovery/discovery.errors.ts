import { RegistryError } from '../errors.js';
import { CONTRACT_NET } from './ranking/agent.query.js';

/** `prefer` names a strategy that does not exist. */
export class UnknownStrategyError extends RegistryError {
  readonly code = 'UNKNOWN_STRATEGY';

  constructor(requested: string, known: readonly string[]) {
    const others = `Set prefer to one of: ${known.join(', ')}.`;
    super(
      requested === CONTRACT_NET
        ? `An auction cannot choose an agent here. To start a run with its winner, announce a contract with POST /v1/contracts and "run": true. ${others}`
        : `There is no strategy "${requested.slice(0, 60)}". ${others}`,
    );
  }
}

/** The query exceeds a limit or contains an empty capability. */
export class InvalidQueryError extends RegistryError {
  readonly code = 'INVALID_QUERY';
}

/** The configured aliases are invalid. Thrown at startup, never by a query. */
export class CapabilityAliasError extends RegistryError {
  readonly code = 'INVALID_CAPABILITY_ALIAS';

  constructor(fault: string) {
    super(`The capability aliases cannot be used: ${fault}. Map every alias to a capability that agents claim.`);
  }
}

/** This replica was frozen or could not read the event log, and did not catch up in time. */
export class DirectoryStaleError extends RegistryError {
  readonly code = 'DIRECTORY_STALE';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super(
      'This replica has not received changes for some seconds, so its results could contain agents that have left. ' +
        'Try again in a second, send the query to another replica, or set consistency to "strong".',
    );
  }
}
