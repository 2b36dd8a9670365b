import type { OpenResponse } from './transport.js';
import { networkReasonOf } from './transport.js';
import { RollcallError } from './rollcall.error.js';

/** The server sends at least a comment every 15 seconds. A connection that is silent for longer is dead. */
const MAX_SILENCE_MS = 45_000;

/** A message without data has only an `id`: the position of the stream. */
export interface SseMessage {
  event: string;
  id: string | undefined;
  data: string | undefined;
}

/**
 * Reads the server-sent events of one connection. It returns when the server ends the stream, and throws `SERVER_UNREACHABLE` when the
 * connection is lost or silent. The connection is closed when the reader stops.
 */
export async function* readSse({ response, close }: OpenResponse): AsyncGenerator<SseMessage, void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const message = parseMessage(block);
        if (message) yield message;
      }
    }
  } catch (error) {
    throw new RollcallError('SERVER_UNREACHABLE', `The stream was interrupted: ${networkReasonOf(error)}`, {
      cause: error,
    });
  } finally {
    close();
  }
}

async function inTime<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no data for ${MAX_SILENCE_MS} ms`)), MAX_SILENCE_MS);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns undefined for a comment. */
function parseMessage(block: string): SseMessage | undefined {
  const fields: Partial<Record<string, string>> = {};
  for (const line of block.split('\n')) {
    const [, name, value] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === undefined) continue;
    fields[name] = name === 'data' && fields['data'] !== undefined ? `${fields['data']}\n${value}` : (value ?? '');
  }
  const { event = 'message', id, data } = fields;
  return id === undefined && data === undefined ? undefined : { event, id, data };
}
