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

/** The cursor was given out by another log: the events it stands for are not in this one. */
export class CursorForeignError extends PlatformError {
  readonly code = 'CURSOR_FOREIGN';

  constructor(readonly head: number) {
    super(
      'The cursor belongs to another event log: the database was restored from a backup, or is another one. ' +
        'Discard what you derived from events, take a snapshot of the agents, and continue from its cursor.',
    );
  }
}

/** A cursor that a consumer cannot continue from. */
export type UnusableCursorError = CursorExpiredError | CursorAheadError | CursorForeignError;

export function isUnusableCursor(error: unknown): error is UnusableCursorError {
  return (
    error instanceof CursorExpiredError || error instanceof CursorAheadError || error instanceof CursorForeignError
  );
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

/** The page would have had to wait too long for the pages asked for before it. */
export class EventsBusyError extends PlatformError {
  readonly code = 'EVENTS_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super('This replica has many pages of events to read. Try again in a moment, or follow the event stream instead.');
  }
}
