import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import sjson from 'secure-json-parse';
import { ApiError } from './api.error.js';

const MAX_DEPTH = 64;
/** Postgres has no room for it in text. The backslash must itself not be escaped. */
const ESCAPED_NUL = /(?<!\\)(?:\\\\)*\\u0000/;
/** A surrogate written as an escape. JSON.stringify escapes only those without their other half. */
const HALF_A_PAIR = /\\ud[89a-f][0-9a-f]{2}/i;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** JSON and nothing else, and only JSON that is safe to walk: valid UTF-8, not too deep, no poisoned prototypes. */
export function useJsonBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    ['application/json', 'application/a2a+json'],
    { parseAs: 'buffer' },
    (_request, body: Buffer, done) => {
      try {
        done(null, parseJsonBody(body));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

/** An empty body is no body: several routes take none. */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new ApiError('MALFORMED_JSON', 'The body is not valid UTF-8.');
  if (isDeeperThan(body, MAX_DEPTH)) {
    throw new ApiError('MALFORMED_JSON', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  }
  const text = body.toString('utf8');
  if (ESCAPED_NUL.test(text))
    throw new ApiError('MALFORMED_JSON', 'The body has a NUL character (\\u0000), which cannot be kept.');
  const value = parse(text);
  if (HALF_A_PAIR.test(text) && HALF_A_PAIR.test(JSON.stringify(value))) {
    throw new ApiError('MALFORMED_JSON', 'The body has half of a surrogate pair, which is no character.');
  }
  refuseInheritedNames(value);
  return value;
}

function parse(text: string): unknown {
  try {
    return sjson.parse(text, { protoAction: 'error', constructorAction: 'error' });
  } catch (error) {
    throw new ApiError('MALFORMED_JSON', `The body cannot be read as JSON: ${(error as Error).message}.`);
  }
}

/** Validation looks fields up by name, and would find `toString` on every object: so these are never known fields. */
function refuseInheritedNames(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const found = Object.keys(value).filter((name) => name in Object.prototype);
  if (found.length === 0) return;
  const errors = found.map((field) => ({ field, message: `${field} is not a known field` }));
  throw new ApiError('VALIDATION_FAILED', `Please correct: ${found.join(', ')}.`, { errors });
}

/** Counted on the bytes, before any parser recurses over them. */
function isDeeperThan(body: Buffer, limit: number): boolean {
  if (body.length <= limit) return false;
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < body.length; index++) {
    const byte = body[index];
    if (quoted) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > limit) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return false;
}
