import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { ApiError } from './api.error.js';
import { QueryNumber } from './query-number.js';

const LARGEST_PAGE = 200;
const USUAL_PAGE = 50;

export class PageQuery {
  @ApiPropertyOptional({ description: 'How many at the most.', default: USUAL_PAGE, minimum: 1, maximum: LARGEST_PAGE })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(LARGEST_PAGE)
  limit: number = USUAL_PAGE;

  @ApiPropertyOptional({ description: 'The `nextCursor` of the page before.' })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  cursor?: string;
}

export interface Page<T> {
  items: T[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/** Makes a page out of `limit + 1` rows: the extra one only tells that there is more. */
export function toPage<Row, View>(
  rows: Row[],
  limit: number,
  view: (row: Row) => View,
  position: (row: Row) => string,
): Page<View> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(view),
    nextCursor: rows.length > limit && last !== undefined ? Buffer.from(position(last)).toString('base64url') : null,
  };
}

/** The position inside a cursor; `pattern` is what this list's positions look like. */
export function readCursor(cursor: string | undefined, pattern: RegExp): string | undefined {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  if (pattern.test(position)) return position;
  throw new ApiError('CURSOR_INVALID', 'Pass `cursor` exactly as `nextCursor` gave it for this list, or leave it out.');
}
