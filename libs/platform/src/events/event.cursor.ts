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
