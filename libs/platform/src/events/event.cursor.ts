/** A place in one log. */
export interface LogPosition {
  seq: number;
  /** Which log: a database that was restored from a backup has another one. */
  epoch: string;
}

/** A place as a consumer names it. A bare number names no log. */
export interface Cursor {
  seq: number;
  epoch?: string;
}

/** `1042-9f3c27d1`, or a bare sequence number. */
export const CURSOR_PATTERN = /^\d{1,15}(-[0-9a-f]{8})?$/;

export function formatCursor({ seq, epoch }: LogPosition): string {
  return `${seq}-${epoch}`;
}

/** The text must match `CURSOR_PATTERN`. */
export function parseCursor(text: string): Cursor {
  const [seq, epoch] = text.split('-');
  return { seq: Number(seq), ...(epoch !== undefined && { epoch }) };
}
