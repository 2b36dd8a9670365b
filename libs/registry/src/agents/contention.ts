/** How often a write that waits for row locks is attempted, if other transactions change the same agent each time. */
export const MAX_ATTEMPTS = 5;
