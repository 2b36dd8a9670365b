import type { Delivery } from './fuzz-case.js';
import { hostileNumber, hostileText, INHERITED_NAMES } from './hostile-values.js';
import type { Random } from './random.js';
import { type Draft, keepSlots } from './valid-request.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'QUERY'];
const MEDIA_TYPES = [
  ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''],
  ['application/json; charset=utf-16', 'application/json;charset=iso-8859-1', 'application/json, text/plain', '*/*'],
  ['application/a2a+json', 'APPLICATION/JSON', 'application/json;', 'application/json; a="', 'x', '/', 'a/b;c=d;e'],
].flat();
const EXTRA_HEADERS: [string, string][] = [
  ['Expect', '100-continue'],
  ['Expect', 'something-else'],
  ['X-Forwarded-For', '<script>, 1.2.3.4, ::1, unknown'],
  ['X-Request-Id', 'x'.repeat(500)],
  ['X-Request-Id', '{"a":1}'],
  ['Content-Encoding', 'gzip'],
  ['Accept', 'text/html;q=0.1'],
  ['Accept-Encoding', 'gzip, br, *;q=0'],
  ['Range', 'bytes=0-1,2-3,-1'],
  ['If-None-Match', '*'],
  ['Origin', 'null'],
  ['Connection', 'close, te, x'],
  ['TE', 'trailers'],
  ['Cookie', 'a=b; '.repeat(200)],
  ['Content-Type', 'application/json'],
  ['Traceparent', '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01'],
  ['Host', 'a..b:99999'],
  ['Forwarded', 'for="[::1'],
  ['Last-Event-ID', '99999999999999999999'],
  ['Sec-WebSocket-Key', 'x'],
];
const PATH_TEXTS = [
  [
    '%2e%2e',
    '%2e',
    '..',
    '../package.json',
    '..%2f..%2fpackage.json',
    '%2f',
    '%5c',
    '%c0%ae%c0%ae',
    '%e0%80%ae',
    '%ff',
    '%ed%a0%80',
    '%00',
    '%',
    '%zz',
    '%0d%0a',
  ],
  ['%F0%9F%99%82', '%E2%80%AE', '', '*', ';a=b', '~', '%25', '%2500', ':id', '{id}', 'undefined', 'null', '%20', '+'],
  INHERITED_NAMES,
].flat();
const DELIVERIES: readonly Delivery[] = [
  'chunked',
  'slow-body',
  'slow-head',
  'truncated',
  'abandoned',
  'bad-chunk',
  'two-lengths',
  'short-length',
  'long-length',
  'pipelined',
];

/** Changes a part of the request other than the body. Returns the name of the mutation. */
type Mutation = (random: Random, draft: Draft) => string;

export const mutateRequest: Mutation = (random, draft) =>
  random.weighted<Mutation>([
    [5, mutateQuery],
    [3, mutatePath],
    [3, mutateHeader],
    [2, addHeader],
    [2, upgrade],
    [1, changeMethod],
  ])(random, draft);

export function pickDelivery(random: Random): Delivery {
  return random.chance(0.9) ? 'whole' : random.pick(DELIVERIES);
}

export function pickMediaType(random: Random): string {
  return random.pick(MEDIA_TYPES);
}

function mutateQuery(random: Random, { query }: Draft): string {
  const known = query.length > 0 && random.chance(0.8);
  const name = known ? (random.pick(query)[0] ?? '') : random.pick(['limit', 'cursor', 'x', ...INHERITED_NAMES]);
  const at = query.findIndex(([one]) => one === name);
  const value = hostileQueryValue(random);
  const change = random.weighted<[string, () => void]>([
    [6, ['hostile', () => void query.splice(Math.max(0, at), known ? 1 : 0, [name, value])]],
    [1, ['duplicate', () => void query.push([name, value], [name, value])]],
    [1, ['array', () => void query.push([`${name}[]`, value], [`${name}[a]`, value], [`${name}.a`, '1'])]],
    [1, ['huge', () => query.push(...Array.from({ length: 700 }, (_, n): [string, string] => [`q${n}`, 'x']))]],
  ]);
  change[1]();
  return `query ${change[0]} ${name}`;
}

function hostileQueryValue(random: Random): string {
  if (random.chance(0.3)) return hostileNumber(random);
  if (random.chance(0.2)) return random.pick(PATH_TEXTS).replaceAll(/[#\s]/g, '');
  if (random.chance(0.2)) return Buffer.from(hostileText(random)).toString('base64url').slice(0, 9_000);
  return encode(hostileText(random)).slice(0, 12_000);
}

/** Half of a surrogate pair cannot be encoded, so its invalid UTF-8 bytes are sent. */
function encode(text: string): string {
  return text.isWellFormed() ? keepSlots(text) : '%ED%A0%80';
}

function mutatePath(random: Random, { segments }: Draft): string {
  const at = random.chance(0.9) ? lastParameter(segments) : random.below(segments.length);
  const text = random.chance(0.6) ? random.pick(PATH_TEXTS) : encode(hostileText(random)).slice(0, 12_000);
  const change = random.weighted<[string, () => void]>([
    [12, ['hostile', () => void (segments[at] = text)]],
    [1, ['insert', () => void segments.splice(at, 0, text)]],
    [1, ['trailing', () => void segments.push(text)]],
    [1, ['case', () => void (segments[at] = segments[at]?.toUpperCase() ?? '')]],
    [1, ['deep', () => void segments.push(...Array.from({ length: 500 }, () => random.pick(['..', 'a', '%2e'])))]],
  ]);
  change[1]();
  return `path ${change[0]}`;
}

function lastParameter(segments: string[]): number {
  const at = segments.findLastIndex((segment) => segment.includes('{{'));
  return at < 0 ? segments.length - 1 : at;
}

function mutateHeader(random: Random, { headers }: Draft): string {
  const name = random.pick(['Idempotency-Key', 'If-Match', 'Content-Type', 'Last-Event-ID', 'Accept', 'Authorization']);
  const texts = [headerText(hostileText(random)), headerText(hostileText(random))];
  headers.push([name, texts[0] ?? '']);
  if (random.chance(0.3)) headers.push([name, texts[1] ?? '']);
  return `header ${name}`;
}

/** Bytes above 0x7f are allowed in a header. Line breaks are removed, because they would end the header. */
function headerText(text: string): string {
  return Buffer.from(text.replaceAll(/[\r\n\0]/g, ' '))
    .toString('latin1')
    .slice(0, 20_000);
}

function addHeader(random: Random, { headers }: Draft): string {
  const [name, value] = random.pick(EXTRA_HEADERS);
  headers.push([name, value]);
  return `header ${name}`;
}

function upgrade(random: Random, { headers }: Draft): string {
  const protocol = random.pick(['websocket', 'h2c', 'x', 'WebSocket', 'websocket, h2c']);
  headers.push(['Connection', 'Upgrade'], ['Upgrade', protocol]);
  if (random.chance(0.7))
    headers.push(['Sec-WebSocket-Version', '13'], ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ==']);
  return `upgrade ${protocol}`;
}

function changeMethod(random: Random, draft: Draft): string {
  draft.method = random.pick(METHODS);
  return `method ${draft.method}`;
}
