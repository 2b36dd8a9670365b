import { DatabaseUnavailableError, DomainError } from '#rollcall/platform';

/** The maximum number of attempts of a write that waits for row locks, if other transactions change the same agent each time. */
export const MAX_ATTEMPTS = 5;

/**
 * How groups of registrations and of updates fail. A domain error rejects the whole batch. After any other error, the
 * batch is split to find the item that caused the error. While the database is unavailable, all waiting items are rejected.
 */
export const GROUP_FAILURE = {
  failure: (error: unknown): { state: 'rejected'; error: Error } => ({
    state: 'rejected',
    error: error instanceof Error ? error : new Error(String(error)),
  }),
  failsAll: (error: unknown): boolean => error instanceof DatabaseUnavailableError,
  mayBeOneItem: (error: unknown): boolean => !(error instanceof DomainError),
};
