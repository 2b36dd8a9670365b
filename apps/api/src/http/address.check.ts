import { ApiError } from './api.error.js';

/** The longest path parameter a route reads; what is longer has no route. Reservation keys have 200 characters. */
export const LONGEST_PARAMETER = 300;

const LONGEST_QUERY = 8_192;
const MOST_PARAMETERS = 50;

const NUL = new ApiError('MALFORMED_REQUEST', 'The address has a NUL character (%00), which nothing here has.');
const TOO_LONG = new ApiError('MALFORMED_REQUEST', `The query may have at most ${LONGEST_QUERY} characters.`);
const TOO_MANY = new ApiError('MALFORMED_REQUEST', `The address may have at most ${MOST_PARAMETERS} query parameters.`);

/** What is wrong with the path and query of a request, before any of it is read; undefined when nothing is. */
export function addressFault(url: string): ApiError | undefined {
  if (url.includes('%00')) return NUL;
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  if (url.length - start - 1 > LONGEST_QUERY) return TOO_LONG;
  return url.slice(start).split('&').length > MOST_PARAMETERS ? TOO_MANY : undefined;
}
