import { PlatformError } from '../errors.js';

/** A position in the event log. */
export interface LogPosition {
  seq: number;
  /** Identifies the log. A database that was restored from a backup has another epoch. */
  epoch: string;
}

/** A position that a consumer sent. The epoch is missing when the consumer sent only a sequence number. */
export interface Cursor {
  seq: number;
  epoch?: string;
}

/** A cursor such as `1042-9f3c27d1`, or a sequence number without an epoch. */
export const CURSOR_PATTERN = /^\d{1,15}(-[0-9a-f]{8})?$/;

export function formatCursor({ seq, epoch }: LogPosition): string {
  return `${seq}-${epoch}`;
}

/** The text must match `CURSOR_PATTERN`. */
export function parseCursor(text: string): Cursor {
  const [seq, epoch] = text.split('-');
  return { seq: Number(seq), ...(epoch !== undefined && { epoch }) };
}

/** Events after the cursor were deleted, by the retention of the log or by the limit of a namespace: a consumer would miss them. */
export class CursorExpiredError extends PlatformError {
  readonly code = 'CURSOR_EXPIRED';

  /** `oldest` is the earliest cursor that a consumer can continue from. */
  constructor(
    readonly after: number,
    readonly oldest: number,
  ) {
    super(
      `Some events after ${after} were deleted; the earliest cursor is ${oldest}. ` +
        'Read a snapshot of the agents, and continue from its cursor.',
    );
  }
}

/** The cursor belongs to another log, so its position means nothing in this log. */
export class CursorForeignError extends PlatformError {
  readonly code = 'CURSOR_FOREIGN';

  constructor(readonly head: number) {
    super(
      'The cursor belongs to another event log: the database was restored from a backup, or replaced by another database. ' +
        'Discard the state you derived from events, read a snapshot of the agents, and continue from its cursor.',
    );
  }
}

/**
 * The cursor is beyond the newest event, so it comes from another registry, or from the time before a backup was
 * restored.
 */
export class CursorAheadError extends PlatformError {
  readonly code = 'CURSOR_AHEAD';

  constructor(
    readonly after: number,
    readonly head: number,
  ) {
    super(
      `There is no event ${after} yet; the newest event is ${head}. Read a snapshot of the agents, and continue from its cursor.`,
    );
  }
}

/** The errors for a cursor that a consumer cannot continue from. */
export type UnusableCursorError = CursorExpiredError | CursorAheadError | CursorForeignError;

export function isUnusableCursor(error: unknown): error is UnusableCursorError {
  return (
    error instanceof CursorExpiredError || error instanceof CursorAheadError || error instanceof CursorForeignError
  );
}
