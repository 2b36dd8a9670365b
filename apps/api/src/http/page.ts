import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { ApiError } from './api.error.js';
import { QueryNumber } from './query-number.js';

const LARGEST_PAGE = 200;
const USUAL_PAGE = 50;

export class PageQuery {
  @ApiPropertyOptional({
    type: 'integer',
    description: 'The largest number of items to return.',
    default: USUAL_PAGE,
    minimum: 1,
    maximum: LARGEST_PAGE,
    example: USUAL_PAGE,
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(LARGEST_PAGE)
  limit: number = USUAL_PAGE;

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

/** Makes a page of `limit + 1` rows: the extra row shows that there is a next page. */
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

/** The position that a cursor contains; `pattern` is the format of the positions of this list. */
export function readCursor(cursor: string | undefined, pattern: RegExp): string | undefined {
  if (cursor === undefined) return undefined;
  const position = Buffer.from(cursor, 'base64url').toString('utf8');
  if (pattern.test(position)) return position;
  throw new ApiError('CURSOR_INVALID', 'Pass `cursor` exactly as `nextCursor` gave it for this list, or leave it out.');
}
