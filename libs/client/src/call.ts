import { type Operations, OPERATIONS } from './generated/operations.js';
import { Pages } from './pages.js';
import { RollcallError } from './rollcall.error.js';
import { readSse } from './sse.reader.js';
import type { ApiRequest, ConditionalCallOptions, HttpTransport } from './transport.js';

type Input = Readonly<Record<string, unknown>>;
type Method = (...list: unknown[]) => unknown;

/**
 * An operation of the table, such as `POST /v1/runs body ?waitMs`. `query`: the input is the query string. `body`: the input is the body,
 * without the fields after `?`, which belong into the query string. `pages`: the response is a page of a list. `stream`: server-sent
 * events. `text`: the response is not JSON. `repeatable`: safe to repeat without a key.
 */
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly words: ReadonlySet<string>;
  readonly queryFields: ReadonlySet<string>;
}

/** Makes a method for each operation of the API. */
export function operationsOver(transport: HttpTransport): Operations {
  const resources = Object.entries(OPERATIONS).map(([resource, rows]) => {
    const methods = Object.entries(rows).map(([verb, row]) => [verb, methodOf(transport, parseRow(row))] as const);
    return [resource, Object.fromEntries(methods)] as const;
  });
  return Object.fromEntries(resources) as unknown as Operations;
}

function parseRow(row: string): Operation {
  const [method = '', path = '', ...words] = row.split(' ');
  const fields = words.find((word) => word.startsWith('?'));
  return { method, path, words: new Set(words), queryFields: new Set(fields?.slice(1).split(',')) };
}

function methodOf(transport: HttpTransport, operation: Operation): Method {
  const { words } = operation;
  return (...list) => {
    const call = readArguments(operation, list);
    if (words.has('stream')) return withoutPositions(connectionOf(transport, operation, call));
    const send = (input: Input | undefined): Promise<unknown> =>
      transport.call(requestFor(operation, { ...call, input }), call.options, (response) =>
        readBody(response, words.has('text')),
      );
    if (!words.has('pages')) return send(call.input);
    const page = (cursor?: string): Promise<unknown> =>
      send(cursor === undefined ? call.input : { ...call.input, cursor });
    return new Pages(page as ConstructorParameters<typeof Pages>[0]);
  };
}

interface Call {
  readonly path: string;
  readonly input: Input | undefined;
  readonly options: ConditionalCallOptions;
}

/** The list has the path parameters in the order of the path, then the input if the operation has one, then the options. */
function readArguments({ path, words }: Operation, list: readonly unknown[]): Call {
  const count = path.split('{').length - 1;
  const hasInput = words.has('body') || words.has('query');
  return {
    path: fillPath(path, list),
    input: hasInput ? (list[count] as Input | undefined) : undefined,
    options: list[count + (hasInput ? 1 : 0)] ?? {},
  };
}

function fillPath(path: string, values: readonly unknown[]): string {
  let next = 0;
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[next++];
    // an empty id would call the list instead
    if ((typeof value !== 'string' && typeof value !== 'number') || value === '')
      throw new TypeError(`${name} must be a text that is not empty`);
    return encodeURIComponent(value);
  });
}

function requestFor(
  { method, words, queryFields }: Operation,
  { path, input, options: { idempotencyKey, ifMatch } }: Call,
): ApiRequest {
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input ?? {})) {
    if (value === undefined) continue;
    if (words.has('body') && !queryFields.has(name)) body[name] = value;
    else for (const one of [value].flat()) query.append(name, String(one));
  }
  const hasBody = words.has('body') && input !== undefined;
  const isChange = method !== 'GET' && !words.has('repeatable');
  return {
    method,
    path: query.size > 0 ? `${path}?${query.toString()}` : path,
    body: hasBody ? JSON.stringify(body) : undefined,
    headers: {
      accept: words.has('stream') ? 'text/event-stream' : 'application/json, application/problem+json, text/plain',
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(isChange && { 'idempotency-key': idempotencyKey ?? randomKey() }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    },
  };
}

/** `crypto.randomUUID` does not exist on pages without TLS. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function readBody(response: Response, isText: boolean): Promise<unknown> {
  const text = await response.text();
  if (isText) return text;
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `The response is not JSON: ${text.slice(0, 200)}`;
    throw new RollcallError('RESPONSE_UNREADABLE', message, { status: response.status, cause: error });
  }
}

/** A message of a stream. `position` has no data: it is the position of a stream without matching events. */
export type StreamMessage<Message> = Message | { event: 'position'; id: string; data: undefined };

/** The messages of one connection, including positions. */
export async function* connect<Message>(
  transport: HttpTransport,
  row: string,
  ...list: unknown[]
): AsyncGenerator<StreamMessage<Message>, void> {
  const operation = parseRow(row);
  yield* connectionOf(transport, operation, readArguments(operation, list)) as AsyncGenerator<StreamMessage<Message>>;
}

async function* connectionOf(transport: HttpTransport, operation: Operation, call: Call): AsyncGenerator<object, void> {
  const { options } = call;
  try {
    for await (const { event, id, data } of readSse(await transport.open(requestFor(operation, call), options))) {
      if (data === undefined) yield { event: 'position', id, data };
      else yield { event, ...(id !== undefined && { id }), data: JSON.parse(data) as unknown };
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error;
  }
}

async function* withoutPositions(messages: AsyncGenerator<object, void>): AsyncGenerator<object, void> {
  for await (const message of messages) if ('event' in message && message.event !== 'position') yield message;
}
