import { ApiError } from './api.error.js';

/** Maximum length of a path parameter; a longer one is rejected with 400. Reservation keys have up to 200 characters. */
export const MAX_PARAMETER_LENGTH = 300;

const MAX_QUERY_LENGTH = 8_192;
const MAX_PARAMETERS = 50;

const NUL = new ApiError('MALFORMED_REQUEST', 'The URL contains a NUL character (%00). Remove it.');
const TOO_LONG = new ApiError('MALFORMED_REQUEST', `The query may have at most ${MAX_QUERY_LENGTH} characters.`);
const TOO_MANY = new ApiError('MALFORMED_REQUEST', `The URL may have at most ${MAX_PARAMETERS} query parameters.`);

/** Checks the path and query of a request before they are parsed. Returns undefined when they are valid. */
export function urlError(url: string): ApiError | undefined {
  if (url.includes('%00')) return NUL;
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  if (url.length - start - 1 > MAX_QUERY_LENGTH) return TOO_LONG;
  return url.slice(start).split('&').length > MAX_PARAMETERS ? TOO_MANY : undefined;
}
