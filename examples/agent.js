// @ts-check
/**
 * A complete agent. Needs Node 20 or newer and no packages; the WebSocket needs Node 22:
 *
 *   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… TRANSPORT=websocket node examples/agent.js
 *
 * It ends when it receives SIGTERM, when an operator drains it, and when its registration was ended intentionally. After
 * everything else (errors, closed sockets, timeouts, an eviction) it tries again, after a random pause much shorter than its lease.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** @typedef {{ agentId: string, generation: number, leaseToken: string, heartbeat: { leaseMs: number } }} Lease */
/** @typedef {'beat' | 'retry' | 'register' | 'leave' | 'stop'} Next */
/** @typedef {{ status: number, body: Record<string, any> }} ApiResponse */

/** If REGISTER_AGAIN has one of these reasons, the registration was ended intentionally: do not register again. */
const FINAL_REASONS = new Set(['deregistered', 'shutdown', 'drained', 'budget_exhausted']);

/**
 * @typedef {object} AgentOptions
 * @property {string} url
 * @property {string} key An API key with the role `agent`.
 * @property {Record<string, unknown>} agent What to register: agentId, name, capabilities, …
 * @property {'websocket' | 'http'} [transport]
 * @property {() => object} [report] The data of a heartbeat: inFlight, load, …
 * @property {() => Promise<void>} [finishWork] Awaited before the agent leaves.
 * @property {AbortSignal} [signal] Ends the agent.
 * @property {(text: string) => void} [log]
 */

/** @param {AgentOptions} options */
export async function runAgent(options) {
  await new Agent(options).run();
}

class Agent {
  /** @type {Lease | undefined} */ lease;
  failures = 0;

  /** @param {AgentOptions} options */
  constructor(options) {
    const defaults = { report: () => ({}), finishWork: async () => {}, signal: new AbortController().signal };
    this.options = { transport: 'websocket', log: console.log, ...defaults, ...options };
  }

  async run() {
    const { signal, finishWork } = this.options;
    /** @type {Next} */ let next = 'register';
    while (next !== 'leave' && next !== 'stop') {
      if (signal.aborted) next = 'leave';
      else if (next === 'register') next = await this.register();
      else next = await this.stayAlive();
    }
    await finishWork();
    if (next === 'leave') await this.leave();
  }

  /** Repeats the request until it succeeds. The Idempotency-Key ensures that the agent is registered only once. */
  async register() {
    const { key, agent, signal, log } = this.options;
    // Only the first registration of a process takes over: the previous process may have crashed and may still be listed.
    const body = { ...agent, leaseToken: this.lease?.leaseToken, takeover: !this.lease };
    const headers = { 'idempotency-key': randomUUID() };
    while (!signal.aborted) {
      const response = await this.request('POST', '/v1/agents', key, { body, headers });
      if (response.status === 201) {
        this.lease = /** @type {Lease} */ (response.body);
        log(`registered ${this.lease.agentId}, generation ${this.lease.generation}`);
        return 'beat';
      }
      if ([400, 401, 403, 413, 422].includes(response.status))
        throw new Error(`Cannot register: ${response.body.detail}`);
      log(`not registered yet: ${response.body.code}`); // 409: another process has taken over, so wait until it leaves
      await this.wait(this.pauseMs(response.body.retryAfterMs));
    }
    return 'leave';
  }

  /** Sends one heartbeat over HTTP, because its response explains errors precisely, and then uses the socket until the socket ends. */
  async stayAlive() {
    const { transport, report, log } = this.options;
    const { generation, leaseToken } = this.current();
    const body = { generation, ...report() };
    const response = await this.request('POST', `${this.path()}/heartbeat`, leaseToken, { body });
    let next = nextAfter(response);
    if (next === 'beat' && transport === 'http') {
      this.failures = 0;
      await this.wait(response.body.nextIntervalMs);
    } else if (next === 'beat') next = await this.followSocket();
    else log(`beat failed: ${response.body.code}`);
    if (next === 'retry' || next === 'register') await this.wait(this.pauseMs(response.body.retryAfterMs));
    return next;
  }

  /** Sends heartbeats over the socket until it ends. Returns what to do next. @returns {Promise<Next>} */
  followSocket() {
    const { url, report, signal, log } = this.options;
    const { agentId, generation, leaseToken } = this.current();
    const query = new URLSearchParams({ agentId, generation: String(generation) });
    const headers = { authorization: `Bearer ${leaseToken}` };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/agents/ws?${query.toString()}`, { headers });
    return new Promise((resolve) => {
      const end = (/** @type {Next} */ next) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        socket.close();
        resolve(next);
      };
      const leave = () => end('leave');
      const retry = () => end('retry');
      let timer = setTimeout(retry, this.timeoutMs()); // waits for the `welcome` frame
      const beat = () => {
        timer = setTimeout(retry, this.timeoutMs()); // waits for the response
        socket.send(JSON.stringify({ event: 'beat', data: report() }));
      };
      const onFrame = (/** @type {{ event: string, data: Record<string, any> }} */ { event, data }) => {
        clearTimeout(timer);
        log(`${event} ${data.action ?? data.code ?? ''}`.trim());
        if (event === 'error') {
          const next = nextAfter({ status: data.status, body: data });
          if (next !== 'retry' || this.failures >= 2) return end(next);
          timer = setTimeout(beat, this.pauseMs(data.retryAfterMs));
          return;
        }
        if (data.action === 'drain' || data.desiredState === 'draining') return end('leave');
        if (data.action === 'stop' || data.action === 'register') return end(data.action);
        if (event === 'beaten') this.failures = 0;
        timer = setTimeout(beat, data.nextIntervalMs ?? 0);
      };
      signal.addEventListener('abort', leave);
      socket.onmessage = ({ data: text }) => onFrame(JSON.parse(text));
      socket.onerror = retry;
      socket.onclose = retry;
    });
  }

  /** Deregisters, and retries a few times. */
  async leave() {
    if (!this.lease) return;
    const { generation, leaseToken } = this.lease;
    for (let tries = 0; tries < 5; tries++) {
      const path = `${this.path()}?generation=${generation}&reason=shutdown`;
      const { status } = await this.request('DELETE', path, leaseToken);
      if (status >= 200 && status < 500 && status !== 429) return this.options.log('left');
      await sleep(200 * (1 + Math.random()));
    }
  }

  current() {
    if (!this.lease) throw new Error('The agent is not registered.');
    return this.lease;
  }

  path() {
    return `/v1/agents/${encodeURIComponent(this.current().agentId)}`;
  }

  /** The maximum wait for a response, and between two attempts. A lease is long enough for several attempts. */
  timeoutMs() {
    return (this.lease?.heartbeat.leaseMs ?? 30_000) / 8;
  }

  /** Exponential backoff with jitter, up to a limit. */
  pauseMs(retryAfterMs = 0) {
    const longest = this.timeoutMs();
    const grown = (longest / 4) * 2 ** Math.min(this.failures++, 10);
    return Math.min(longest, Math.max(grown, retryAfterMs)) * (0.5 + Math.random() / 2);
  }

  /** @param {number} ms */
  async wait(ms) {
    await sleep(ms, undefined, { signal: this.options.signal }).catch(() => {}); // the caller checks the signal
  }

  /**
   * @param {string} method @param {string} path @param {string} token
   * @param {{ body?: object, headers?: Record<string, string> }} [extras]
   * @returns {Promise<ApiResponse>} status 0: there was no response
   */
  async request(method, path, token, { body, headers } = {}) {
    try {
      const json = body ? { body: JSON.stringify(body) } : {};
      const type = body ? { 'content-type': 'application/json' } : {};
      const response = await fetch(this.options.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, ...type, ...headers },
        signal: AbortSignal.timeout(this.timeoutMs()),
        ...json,
      });
      const text = await response.text();
      return { status: response.status, body: text ? JSON.parse(text) : {} };
    } catch (error) {
      return { status: 0, body: { code: String(error) } };
    }
  }
}

/** Decides what to do after the response to a heartbeat, or after an `error` frame. @param {ApiResponse} response @returns {Next} */
function nextAfter({ status, body }) {
  if (status === 200) return 'beat';
  if (body.code === 'REGISTER_AGAIN' && FINAL_REASONS.has(body.reason)) return 'stop';
  return [401, 403, 404, 409].includes(status) ? 'register' : 'retry';
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { ROLLCALL_URL: url = 'http://127.0.0.1:8080', ROLLCALL_KEY: key = '' } = process.env;
  // Node 20 has no WebSocket
  const transport = process.env.TRANSPORT === 'http' || !('WebSocket' in globalThis) ? 'http' : 'websocket';
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => ending.abort());
  const agent = { agentId: 'builder-02', name: 'swarm-builder', capabilities: ['build'] };
  await runAgent({ url, key, agent, transport, signal: ending.signal });
  process.exit();
}
