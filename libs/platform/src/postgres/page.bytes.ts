/** The size of one page of a list. A page ends earlier than its number of rows if the rows are large. */
export const PAGE_BYTES = 1_024 * 1_024;

/** A page has at least one row, however large, and one more row must be read to know that there is another page. */
export const ROWS_OF_ANY_SIZE = 2;

/**
 * Ends a selection of rows at the size of a page: `size` is the SQL of the size of a row, and `order` is the order of the rows. Postgres
 * knows the size of a text (`octet_length`) and the stored size of any value (`pg_column_size`) without reading it, so a page of large
 * rows costs no more than its size. `size` must not be larger than the row is in the response: the caller cuts the page to its exact size,
 * and finds out in this way that there is another page.
 */
export function withinPage(rows: string, { size, order }: { size: string; order: string }): string {
  return `SELECT * FROM (SELECT page.*, sum(${size}) OVER upto - (${size}) AS page_bytes, row_number() OVER upto AS page_row
      FROM (${rows}) AS page WINDOW upto AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)) AS page
    WHERE page_row <= ${ROWS_OF_ANY_SIZE} OR page_bytes <= ${PAGE_BYTES} ORDER BY ${order}`;
}
