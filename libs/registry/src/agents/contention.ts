/** The maximum number of attempts of a write that waits for row locks, if other transactions change the same agent each time. */
export const MAX_ATTEMPTS = 5;
