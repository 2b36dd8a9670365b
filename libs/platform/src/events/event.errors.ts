import { PlatformError } from '../errors.js';

/** The cursor points before the oldest event that is kept: going on from it would skip some without a word. */
export class CursorExpiredError extends PlatformError {
  readonly code = 'CURSOR_EXPIRED';

  /** `oldest` is the earliest cursor that can still be gone on from. */
  constructor(
    readonly after: number,
    readonly oldest: number,
  ) {
    super(
      `The events after ${after} are no longer all kept; the earliest cursor is ${oldest}. ` +
        'Take a snapshot of the agents, and go on from the seq it is true at.',
    );
  }
}

/** The cursor points behind the newest event, so it comes from another registry, or from before a restored backup. */
export class CursorAheadError extends PlatformError {
  readonly code = 'CURSOR_AHEAD';

  constructor(
    readonly after: number,
    readonly head: number,
  ) {
    super(
      `There is no event ${after} yet; the newest is ${head}. Take a snapshot, and go on from the seq it is true at.`,
    );
  }
}
