import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import sjson from 'secure-json-parse';
import { ApiError } from '../problems/api.error.js';
import { checkInput, INPUT_LIMITS } from './input.check.js';

export const JSON_MEDIA_TYPE = 'application/json';
/** The content type of responses that are already serialised. */
export const JSON_TYPE = `${JSON_MEDIA_TYPE}; charset=utf-8`;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Accepts only JSON that is safe to process: valid UTF-8, limited depth, no prototype pollution. */
export function useJsonBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    ['application/json', 'application/a2a+json'],
    { parseAs: 'buffer' },
    ({ headers, routeOptions }, body: Buffer, done) => {
      try {
        checkEncoding(headers['content-encoding']);
        const isResult = routeOptions.config.body === 'result';
        done(null, parseJsonBody(body, isResult ? body.length : undefined));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

function checkEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw new ApiError(
    'UNSUPPORTED_MEDIA_TYPE',
    'The body has a Content-Encoding. Send it uncompressed and without this header.',
  );
}

/** An empty body is valid, because several routes need no body. A result may be one long text. */
export function parseJsonBody(body: Buffer, stringLength?: number): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new ApiError('MALFORMED_JSON', 'The body is not valid UTF-8.');
  checkShape(body);
  const value = parse(body.toString('utf8'));
  checkInput(value, stringLength);
  return value;
}

function parse(text: string): unknown {
  try {
    return sjson.parse(text, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    throw new ApiError('MALFORMED_JSON', `The body is not valid JSON: ${(error as Error).message}.`);
  }
}

/** Counts levels and values in the raw bytes, before a parser recurses or creates objects. */
function checkShape(body: Buffer): void {
  if (body.length <= INPUT_LIMITS.depth) return;
  let depth = 0;
  let values = 0;
  let quoted = false;
  for (let index = 0; index < body.length; index++) {
    const byte = body[index];
    if (quoted) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === COMMA) values++;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values++;
      if (++depth > INPUT_LIMITS.depth) throw tooLarge(`is nested deeper than ${INPUT_LIMITS.depth} levels`);
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  if (values > INPUT_LIMITS.values)
    throw tooLarge(`has more than ${INPUT_LIMITS.values} keys and elements. Send several smaller requests`);
}

function tooLarge(what: string): ApiError {
  return new ApiError('MALFORMED_JSON', `The body ${what}.`);
}
