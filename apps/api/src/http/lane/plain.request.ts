/** The head of a request that is plain in every respect. */
export interface PlainHead {
  url: string;
  headers: Record<string, string>;
  /** How many bytes the head has, with the empty line at its end. */
  headBytes: number;
  bodyBytes: number;
}

export const LARGEST_BODY = 4_096;
const LARGEST_HEAD = 8_192;
const END_OF_HEAD = Buffer.from('\r\n\r\n');
const BEFORE_URL = 'POST ';
const AFTER_URL = ' HTTP/1.1';
const PLAIN_URL = /^\/[\w./:-]*$/;
const PRINTABLE = /^[\x20-\x7e]+$/;
const NAME = /^[a-z\d!#$%&'*+.^_`|~-]+$/;
const LENGTH = /^\d{1,4}$/;
/** These change where a request ends, or what the connection is used for. */
const NOT_PLAIN = new Set(['transfer-encoding', 'upgrade', 'proxy-connection', 'trailer']);

/**
 * Reads the head of a POST of JSON of a known, small size. It knows less of HTTP than any parser and must never guess: for
 * what is unusual in any way, wrong or only rare, the answer is undefined, and Node's parser is to read it.
 */
export function readPlainHead(bytes: Buffer): PlainHead | undefined {
  const end = bytes.indexOf(END_OF_HEAD);
  if (end < 0 || end > LARGEST_HEAD) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  if (!first.startsWith(BEFORE_URL) || !first.endsWith(AFTER_URL)) return undefined;
  const url = first.slice(BEFORE_URL.length, -AFTER_URL.length);
  const headers = PLAIN_URL.test(url) ? readHeaders(lines) : undefined;
  if (!headers || !isPlain(headers)) return undefined;
  return { url, headers, headBytes: end + END_OF_HEAD.length, bodyBytes: Number(headers['content-length']) };
}

function readHeaders(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = colon > 0 ? line.slice(0, colon).toLowerCase() : '';
    if (!PRINTABLE.test(line) || !NAME.test(name) || name in headers || NOT_PLAIN.has(name)) return undefined;
    headers[name] = line.slice(colon + 1).trim();
  }
  return headers;
}

/** Of headers that say how to read the request: JSON of a small size, on a connection that is kept. */
export function isPlain(headers: Record<string, string | string[] | undefined>): boolean {
  const length = headers['content-length'];
  return (
    typeof length === 'string' &&
    LENGTH.test(length) &&
    Number(length) > 0 &&
    Number(length) <= LARGEST_BODY &&
    headers['content-type'] === 'application/json' &&
    headers['content-encoding'] === undefined &&
    headers['expect'] === undefined &&
    headers['host'] !== undefined &&
    String(headers['connection'] ?? 'keep-alive').toLowerCase() === 'keep-alive'
  );
}
