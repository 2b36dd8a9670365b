// @ts-check
/**
 * A complete consumer of events. Needs Node 22 or newer and no packages:
 *
 *   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… AFTER=oldest TRANSPORT=websocket node examples/consumer.js
 *
 * It reads pages until it has everything, then follows by WebSocket, by server-sent events, or by waiting for the next page
 * (TRANSPORT=websocket, sse or rest). Whatever interrupts it, it resumes after the last event it has taken.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** @typedef {{ sequence: string, id: string, type: string, subject: string, data: object }} Event */
/** @typedef {{ status: number, body: Record<string, any> }} Answer */

const LONGEST_PAUSE_MS = 5_000;
const ANSWER_WITHIN_MS = 10_000;
const WAIT_MS = 25_000;
/** Something arrives every 15 seconds, so a connection that is silent for this long is dead. */
const SILENT_MS = 45_000;

/**
 * @typedef {object} ConsumerOptions
 * @property {string} url
 * @property {string} key An API key with the role `viewer`, or more.
 * @property {(events: Event[], cursor: string) => void | Promise<void>} onEvents
 *   Store the cursor together with what you make of the events, best in one transaction.
 * @property {(agents: object[], cursor: string) => void | Promise<void>} [onSnapshot]
 *   Called instead of `onEvents` when the cursor is too old: all agents as of this cursor. Replace what you have by them.
 * @property {string} [after] The cursor you have stored, `oldest` or `latest`.
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
      const answer = await this.request(`/v1/events?${this.query({ limit: '1000', waitMs: String(waitMs) })}`);
      const { status, body } = answer;
      if ([400, 401, 403].includes(status) && !body.snapshot) throw new Error(`Cannot read events: ${body.detail}`);
      try {
        if (await this.use(answer)) continue;
      } catch (error) {
        log(`not taken, so they come again: ${String(error)}`);
      }
      await this.pause(body.retryAfterMs);
    }
  }

  /** True when the next page can be read at once. @param {Answer} answer */
  async use({ status, body }) {
    const { signal, transport, log } = this.options;
    if (body.snapshot) await this.startOver(body.snapshot);
    else if (status !== 200 && !signal.aborted) log(`no events: ${body.code}`);
    if (status !== 200) return false;
    await this.take(body.items, body.next);
    if (transport === 'rest') this.failures = 0;
    if (transport === 'rest' || body.next !== body.head) return true;
    await (transport === 'sse' ? this.followStream() : this.followSocket());
    return false;
  }

  /** The events after our cursor are no longer kept, or it is not of this log. @param {string} path */
  async startOver(path) {
    this.options.log('the cursor is of no use any more; reading the snapshot');
    const { status, body } = await this.request(path, 60_000);
    if (status !== 200) return;
    const { cursor } = body;
    await this.options.onSnapshot(body.items, cursor);
    this.cursor = cursor;
  }

  /** @param {Event[]} events @param {string} cursor */
  async take(events, cursor) {
    if (events.length > 0) await this.options.onEvents(events, cursor);
    this.cursor = cursor;
  }

  /** Settles when the socket has ended, and everything that came over it is taken. */
  async followSocket() {
    const { url, key, types, signal } = this.options;
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/events/ws`, { headers });
    let taken = Promise.resolve();
    await new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        socket.onmessage = null;
        socket.close();
        resolve(undefined);
      };
      let timer = setTimeout(end, ANSWER_WITHIN_MS);
      const onFrame = async (/** @type {{ event: string, data: any, cursor: string }} */ { event, data, cursor }) => {
        if (event === 'error') return end();
        if (event === 'subscribed') this.failures = 0;
        if (event === 'events') await this.take(data, cursor);
        if (event === 'position') await this.take([], data.cursor);
      };
      signal.addEventListener('abort', end);
      socket.onopen = () => {
        const filter = types.length > 0 ? { types } : {};
        socket.send(JSON.stringify({ event: 'subscribe', data: { after: this.cursor, ...filter } }));
      };
      socket.onmessage = ({ data: text }) => {
        clearTimeout(timer);
        timer = setTimeout(end, SILENT_MS);
        taken = taken.then(() => onFrame(JSON.parse(text)));
        taken.catch(end); // and thrown below
      };
      socket.onerror = end;
      socket.onclose = end;
    });
    await taken;
  }

  /** Settles when the stream has ended. */
  async followStream() {
    const { url, key, signal } = this.options;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), ANSWER_WITHIN_MS);
    /** @type {AsyncGenerator<string>} */ let chunks;
    try {
      const response = await fetch(`${url}/v1/events/stream?${this.query({})}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      if (!response.ok || !response.body) return await response.body?.cancel();
      chunks = decode(response.body);
    } catch {
      return; // no answer: the next page says what is wrong
    } finally {
      clearTimeout(timer);
    }
    this.failures = 0;
    for (let text = '', chunk; (chunk = await nextOf(chunks)) !== undefined;) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENT_MS);
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) await this.takeBlock(block);
    }
    clearTimeout(timer);
  }

  /** One block of lines such as `id: 42`. @param {string} block */
  async takeBlock(block) {
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
    if (fields.event === 'end' || !fields.id) return;
    await this.take(fields.data ? [JSON.parse(fields.data)] : [], fields.id);
  }

  /** @param {Record<string, string>} more */
  query(more) {
    const { types } = this.options;
    const query = new URLSearchParams({ after: this.cursor, ...more });
    if (types.length > 0) query.set('types', types.join(','));
    return query.toString();
  }

  /** Grows with every failure in a row, up to a limit, and is never the same for two consumers. */
  async pause(retryAfterMs = 0) {
    const grown = 250 * 2 ** Math.min(this.failures++, 10);
    const ms = Math.min(LONGEST_PAUSE_MS, Math.max(grown, retryAfterMs)) * (0.5 + Math.random() / 2);
    await sleep(ms, undefined, { signal: this.options.signal }).catch(() => {}); // aborted: the caller looks at the signal
  }

  /** @param {string} path @param {number} [withinMs] @returns {Promise<Answer>} with status 0 when there is none */
  async request(path, withinMs = ANSWER_WITHIN_MS + WAIT_MS) {
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

/** Undefined when the stream has ended, in order or not. @param {AsyncGenerator<string>} chunks */
async function nextOf(chunks) {
  try {
    return (await chunks.next()).value;
  } catch {
    return undefined;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { ROLLCALL_URL: url = 'http://127.0.0.1:8080', ROLLCALL_KEY: key = '', AFTER: after } = process.env;
  const transport = /** @type {'websocket' | 'sse' | 'rest'} */ (process.env.TRANSPORT ?? 'websocket');
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => ending.abort());
  const onEvents = (/** @type {Event[]} */ events) => {
    for (const { sequence, type, subject } of events) console.log(sequence, type, subject);
  };
  const onSnapshot = (/** @type {object[]} */ agents) => console.log(`snapshot of ${agents.length} agents`);
  await runConsumer({ url, key, after, transport, onEvents, onSnapshot, signal: ending.signal });
  process.exit();
}
