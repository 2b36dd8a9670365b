import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { PAGE_BYTES } from '#rollcall/platform';
import { ApiError } from './problems/api.error.js';
import { QueryNumber } from './validation/fields.js';

const MAX_PAGE_SIZE = 200;
const DEFAULT_PAGE_SIZE = 50;
/** The position in a list of files is a path, which has up to 3 KB. */
const MAX_CURSOR = 5_000;

export class PageQuery {
  @ApiPropertyOptional({
    type: 'integer',
    description: 'The maximum number of items to return. A page of large items ends earlier, at 1 MB.',
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
  @MaxLength(MAX_CURSOR)
  cursor?: string;
}

export class PageView {
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Pass this value as `cursor` to get the next page; null on the last page.',
  })
  nextCursor: string | null;
}

export interface Page<T> extends PageView {
  items: T[];
}

/** The positions of lists that are sorted by a sequence number. */
const SEQUENCE = /^\d{1,18}$/;

/** A list that is read in pages. Its cursors contain its name, so that another list rejects them. */
export class PagedList {
  /** `position` is the format of the positions in this list. */
  constructor(
    private readonly name: string,
    private readonly position: RegExp = SEQUENCE,
  ) {}

  /**
   * Makes a page from up to `limit + 1` rows: the extra row shows that there is a next page. A page whose rows are large ends before its
   * size exceeds `PAGE_BYTES`, and has at least one row.
   */
  toPage<Row, View>(
    rows: readonly Row[],
    limit: number,
    view: (row: Row) => View,
    positionOf: (row: Row) => string,
  ): Page<View> {
    const items = fitting(rows.slice(0, limit), view);
    const last = rows[items.length - 1];
    const hasNext = rows.length > items.length && last !== undefined;
    return { items, nextCursor: hasNext ? this.cursorOf(positionOf(last)) : null };
  }

  /** Returns the position that a cursor of this list contains. */
  readCursor(cursor: string | undefined): string | undefined {
    if (cursor === undefined) return undefined;
    const [name, position] = splitOnce(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (name === this.name && this.position.test(position)) return position;
    throw new ApiError(
      'CURSOR_INVALID',
      'Send an unchanged `nextCursor` of this list as `cursor`, or leave out `cursor`.',
    );
  }

  private cursorOf(position: string): string {
    return Buffer.from(`${this.name}:${position}`).toString('base64url');
  }
}

/** The first rows whose views fit into a page: at least one. */
export function fitting<Row, View>(rows: readonly Row[], view: (row: Row) => View): View[] {
  const views: View[] = [];
  let bytes = 0;
  for (const row of rows) {
    const next = view(row);
    bytes += Buffer.byteLength(JSON.stringify(next));
    if (bytes > PAGE_BYTES && views.length > 0) break;
    views.push(next);
  }
  return views;
}

function splitOnce(text: string): [name: string, position: string] {
  const colon = text.indexOf(':');
  return [text.slice(0, colon), text.slice(colon + 1)];
}
