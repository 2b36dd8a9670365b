import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { ApiError } from './api.error.js';
import { QueryNumber } from './query-number.js';

const MAX_PAGE_SIZE = 200;
const DEFAULT_PAGE_SIZE = 50;

export class PageQuery {
  @ApiPropertyOptional({
    type: 'integer',
    description: 'The maximum number of items to return.',
    default: DEFAULT_PAGE_SIZE,
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    example: DEFAULT_PAGE_SIZE,
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(MAX_PAGE_SIZE)
  limit: number = DEFAULT_PAGE_SIZE;

  @ApiPropertyOptional({ description: 'The `nextCursor` of the previous page.' })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  cursor?: string;
}

export class PageView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Pass it as `cursor` to get the next page; null on the last page.',
  })
  nextCursor: string | null;
}

export interface Page<T> extends PageView {
  items: T[];
}

/** Makes a page of up to `limit + 1` rows: the extra row shows that there is a next page. */
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

/** Returns the position that a cursor contains. `pattern` is the format of the positions of this list. */
export function readCursor(cursor: string | undefined, pattern: RegExp): string | undefined {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  if (pattern.test(position)) return position;
  throw new ApiError('CURSOR_INVALID', 'Send a `nextCursor` of this list, unchanged, as `cursor`, or leave it out.');
}
