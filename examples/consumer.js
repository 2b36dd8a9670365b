// @ts-check
/**
 * A complete consumer of events. Needs Node 22 or newer and no packages:
 *
 *   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… AFTER=oldest TRANSPORT=websocket node examples/consumer.js
 *
 * It reads pages until it has all events, then follows new events by WebSocket, by server-sent events, or by long polling
 * (TRANSPORT=websocket, sse or rest). After any interruption it resumes after the last event that it has processed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** @typedef {{ sequence: string, id: string, type: string, subject: string, data: object }} Event */
/** @typedef {{ status: number, body: Record<string, any> }} ApiResponse */

const MAX_PAUSE_MS = 5_000;
const RESPONSE_TIMEOUT_MS = 10_000;
const WAIT_MS = 25_000;
/** The server sends data every 15 seconds, so a connection that is silent for this long is dead. */
const SILENT_MS = 45_000;

/**
 * @typedef {object} ConsumerOptions
 * @property {string} url
 * @property {string} key An API key with the role `viewer`, or more.
 * @property {(events: Event[], cursor: string) => void | Promise<void>} onEvents
 *   Store the cursor together with the results of the events, if possible in one transaction.
 * @property {(agents: object[], cursor: string) => void | Promise<void>} [onSnapshot]
 *   Called instead of `onEvents` when the cursor is too old, with all agents at this cursor. Replace all stored agents with these.
 * @property {string} [after] The stored cursor, `oldest` or `latest`.
 * @property {string[]} [types]
 * @property {'websocket' | 'sse' | 'rest'} [transport]
 * @property {AbortSignal} [signal] Ends the consumer.
 * @property {(text: string) => void} [log]
 */

/** @param {ConsumerOptions} options */
export async function runConsumer(options) {
  await new Consumer(options).run();
}

class Consumer {
  failures = 0;

  /** @param {ConsumerOptions} options */
  constructor(options) {
    const defaults = { onSnapshot: () => {}, types: [], transport: 'websocket', signal: new AbortController().signal };
    this.options = { log: console.error, ...defaults, ...options };
    this.cursor = options.after ?? 'oldest';
  }

  async run() {
    const { signal, transport, log } = this.options;
    const waitMs = transport === 'rest' ? WAIT_MS : 0;
    while (!signal.aborted) {
      const response = await this.request(`/v1/events?${this.query({ limit: '1000', waitMs: String(waitMs) })}`);
      const { status, body } = response;
      if ([400, 401, 403].includes(status) && !body.snapshot) throw new Error(`Cannot read events: ${body.detail}`);
      try {
        if (await this.onPage(response)) continue;
      } catch (error) {
        log(`onEvents failed, so the events are read again: ${String(error)}`);
      }
      await this.pause(body.retryAfterMs);
    }
  }

  /** Returns true when the next page can be read at once. @param {ApiResponse} response */
  async onPage({ status, body }) {
    const { signal, transport, log } = this.options;
    if (body.snapshot) await this.readSnapshot(body.snapshot);
    else if (status !== 200 && !signal.aborted) log(`no events: ${body.code}`);
    if (status !== 200) return false;
    await this.process(body.items, body.next);
    if (transport === 'rest') this.failures = 0;
    if (transport === 'rest' || body.next !== body.head) return true;
    await (transport === 'sse' ? this.followStream() : this.followSocket());
    return false;
  }

  /** For a cursor whose next events are no longer kept, or that belongs to another log. @param {string} path */
  async readSnapshot(path) {
    this.options.log('the cursor cannot be continued; reading the snapshot');
    const { status, body } = await this.request(path, 60_000);
    if (status !== 200) return;
    const { cursor } = body;
    await this.options.onSnapshot(body.items, cursor);
    this.cursor = cursor;
  }

  /** @param {Event[]} events @param {string} cursor */
  async process(events, cursor) {
    if (events.length > 0) await this.options.onEvents(events, cursor);
    this.cursor = cursor;
  }

  /** Settles when the socket has ended and all events from it are processed. */
  async followSocket() {
    const { url, key, types, signal } = this.options;
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/events/ws`, { headers });
    let processed = Promise.resolve();
    await new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        socket.onmessage = null;
        socket.close();
        resolve(undefined);
      };
      let timer = setTimeout(end, RESPONSE_TIMEOUT_MS);
      const onFrame = async (/** @type {{ event: string, data: any, cursor: string }} */ { event, data, cursor }) => {
        if (event === 'error') return end();
        if (event === 'subscribed') this.failures = 0;
        if (event === 'events') await this.process(data, cursor);
        if (event === 'position') await this.process([], data.cursor);
      };
      signal.addEventListener('abort', end);
      socket.onopen = () => {
        const filter = types.length > 0 ? { types } : {};
        socket.send(JSON.stringify({ event: 'subscribe', data: { after: this.cursor, ...filter } }));
      };
      socket.onmessage = ({ data: text }) => {
        clearTimeout(timer);
        timer = setTimeout(end, SILENT_MS);
        processed = processed.then(() => onFrame(JSON.parse(text)));
        processed.catch(end); // the error is thrown below
      };
      socket.onerror = end;
      socket.onclose = end;
    });
    await processed;
  }

  /** Settles when the stream has ended. */
  async followStream() {
    const { url, key, signal } = this.options;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), RESPONSE_TIMEOUT_MS);
    /** @type {AsyncGenerator<string>} */ let chunks;
    try {
      const response = await fetch(`${url}/v1/events/stream?${this.query({})}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (!response.ok || !response.body) return await response.body?.cancel();
      chunks = decode(response.body);
    } catch {
      return; // no response: the next request for a page reports the error
    } finally {
      clearTimeout(timer);
    }
    this.failures = 0;
    for (let text = '', chunk; (chunk = await nextOf(chunks)) !== undefined;) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENT_MS);
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) await this.onBlock(block);
    }
    clearTimeout(timer);
  }

  /** One block of lines such as `id: 42`. @param {string} block */
  async onBlock(block) {
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
    if (fields.event === 'end' || !fields.id) return;
    await this.process(fields.data ? [JSON.parse(fields.data)] : [], fields.id);
  }

  /** @param {Record<string, string>} more */
  query(more) {
    const { types } = this.options;
    const query = new URLSearchParams({ after: this.cursor, ...more });
    if (types.length > 0) query.set('types', types.join(','));
    return query.toString();
  }

  /** Exponential backoff with jitter, up to a limit. */
  async pause(retryAfterMs = 0) {
    const grown = 250 * 2 ** Math.min(this.failures++, 10);
    const ms = Math.min(MAX_PAUSE_MS, Math.max(grown, retryAfterMs)) * (0.5 + Math.random() / 2);
    await sleep(ms, undefined, { signal: this.options.signal }).catch(() => {}); // the caller checks the signal
  }

  /** @param {string} path @param {number} [withinMs] @returns {Promise<ApiResponse>} status 0: there was no response */
  async request(path, withinMs = RESPONSE_TIMEOUT_MS + WAIT_MS) {
    const { url, key, signal } = this.options;
    try {
      const response = await fetch(url + path, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(withinMs)]),
      });
      return { status: response.status, body: /** @type {Record<string, any>} */ (await response.json()) };
    } catch (error) {
      return { status: 0, body: { code: String(error) } };
    }
  }
}

/** @param {ReadableStream<Uint8Array>} body */
async function* decode(body) {
  const decoder = new TextDecoder();
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true });
}

/** Returns undefined when the stream has ended or failed. @param {AsyncGenerator<string>} chunks */
async function nextOf(chunks) {
  try {
    return (await chunks.next()).value;
  } catch {
    return undefined; // the connection failed; the caller connects again
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { ROLLCALL_URL: url = 'http://127.0.0.1:8080', ROLLCALL_KEY: key = '', AFTER: after } = process.env;
  const transport = /** @type {'websocket' | 'sse' | 'rest'} */ (process.env.TRANSPORT ?? 'websocket');
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => ending.abort());
  const onEvents = (/** @type {Event[]} */ events) => {
    for (const { sequence, type, subject } of events) console.log(Number(sequence), type, subject);
  };
  const onSnapshot = (/** @type {object[]} */ agents) => console.log(`snapshot of ${agents.length} agents`);
  await runConsumer({ url, key, after, transport, onEvents, onSnapshot, signal: ending.signal });
  process.exit();
}
