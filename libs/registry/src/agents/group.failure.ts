import { DatabaseUnavailableError, DomainError } from '#rollcall/platform';

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
