import type { TakenTaskView } from '../generated/schema.js';
import type { CallSignature } from './call.signature.js';
import type { Changes } from './changes.js';
import type { Lease } from './agent.lease.js';
import { type AgentWork, execute, type TaskHandler, type TaskPiece, type TaskResult } from './task.js';

export interface EndpointOptions {
  readonly handle: TaskHandler;
  readonly isIdempotent: boolean;
  /** Undefined: calls are not checked. */
  readonly signature: CallSignature | undefined;
  readonly changes: Changes;
}

/** A call of the endpoint. The same call may arrive again on another connection. */
interface Execution {
  readonly stop: AbortController;
  readonly result: Promise<TaskResult>;
  readonly listeners: Set<(piece: TaskPiece) => void>;
  isRunning: boolean;
}

/** How long a call without a connection may be repeated, and for how many calls the answers are kept. */
const REPEATED_WITHIN_MS = 10_000;
const MAX_KEPT = 1_000;

/**
 * Answers the calls that Rollcall sends to the endpoint of an agent, with one line for each piece and for the result. A repetition of a call
 * joins the first one, or gets its answer, if the agent is idempotent.
 */
export class AgentEndpoint implements AgentWork {
  private readonly executions = new Map<string, Execution>();
  private readonly running = new Set<Execution>();

  constructor(private readonly options: EndpointOptions) {}

  get inFlight(): number {
    return this.running.size;
  }

  /** Rollcall sends the work. */
  async receive(_lease: Lease, signal: AbortSignal): Promise<void> {
    await this.options.changes.until(() => signal.aborted);
  }

  async takeRest(): Promise<number> {
    return await Promise.resolve(0);
  }

  /** Calls continue: only their connections tell whether they are needed. */
  onLost(): void {}

  cancel(): void {}

  abort(): void {
    for (const { stop } of this.running) stop.abort();
  }

  /** Answers a request to the endpoint. `agent` is the current registration. */
  async respond(request: Request, agent: { agentId: string; namespace: string } | undefined): Promise<Response> {
    if (!agent) return new Response('The agent is not registered yet.', { status: 503 });
    if (request.method !== 'POST') return new Response('Rollcall sends POST requests.', { status: 405 });
    const token = request.headers.get('rollcall-token') ?? '';
    const { signature } = this.options;
    try {
      if (signature && !(await signature.isGenuine(token, agent.agentId, agent.namespace)))
        return new Response('The call has no valid Rollcall-Token.', { status: 401 });
    } catch {
      return new Response('The keys of Rollcall cannot be read.', { status: 503, headers: { 'retry-after': '1' } });
    }
    const message = (await request.json()) as TakenTaskView;
    return new Response(this.answer(this.executionOf(request, message), request.signal), {
      headers: { 'content-type': 'application/x-ndjson' },
    });
  }

  private executionOf(request: Request, message: TakenTaskView): Execution {
    const { handle, isIdempotent } = this.options;
    const key = request.headers.get('idempotency-key') ?? message.callId;
    const known = this.executions.get(key);
    if (known && isIdempotent && !known.stop.signal.aborted) return known;
    const stop = new AbortController();
    const listeners = new Set<(piece: TaskPiece) => void>();
    const send = (piece: TaskPiece): void => listeners.forEach((listener) => listener(piece));
    const result = execute(handle, message, { signal: stop.signal, send });
    const one: Execution = { stop, listeners, result, isRunning: true };
    this.executions.set(key, one);
    this.running.add(one);
    void this.keep(one);
    return one;
  }

  private async keep(one: Execution): Promise<void> {
    await one.result;
    one.isRunning = false;
    this.running.delete(one);
    const [oldest] = this.executions.keys();
    if (this.executions.size > MAX_KEPT && oldest !== undefined) this.executions.delete(oldest);
    this.options.changes.notify();
  }

  /** The lines of the answer. A call whose connection is closed is aborted, unless it may be repeated. */
  private answer(one: Execution, closed: AbortSignal): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    const onClose = (): void => {
      const abort = (): void => (one.listeners.size === 0 && one.isRunning ? one.stop.abort() : undefined);
      if (this.options.isIdempotent) setTimeout(abort, REPEATED_WITHIN_MS);
      else abort();
    };
    return new ReadableStream({
      start: async (controller) => {
        const line = (event: object): void => controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`));
        const listener = (piece: TaskPiece): void => {
          if ('text' in piece) line({ type: 'text', text: piece.text });
          else line({ type: 'progress', text: piece.progress });
        };
        one.listeners.add(listener);
        const detach = (): void => {
          if (one.listeners.delete(listener)) onClose();
        };
        closed.addEventListener('abort', detach, { once: true });
        const { outcome, detail, ...result } = await one.result;
        if (!one.listeners.delete(listener)) return; // the connection is closed
        closed.removeEventListener('abort', detach);
        if (outcome === 'failed') line({ type: 'error', message: detail ?? 'The agent failed.', retryable: false });
        else line({ type: 'result', outcome, detail, ...result });
        controller.close();
      },
    });
  }
}

/** The part of `node:http` that is used here. */
interface NodeHttp {
  createServer(handle: (request: NodeRequest, response: NodeResponse) => void): NodeServer;
}
interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method: string;
  readonly headers: Record<string, string | undefined>;
}
interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): void;
  write(chunk: Uint8Array): void;
  end(): void;
  once(event: 'close', listener: () => void): void;
}
export interface NodeServer {
  listen(port: number, host: string | undefined, listener: () => void): void;
  once(event: 'error', listener: (error: Error) => void): void;
  address(): { port: number };
  close(): void;
  closeAllConnections(): void;
}

const MAX_BODY_BYTES = 32 << 20;

/** Listens at the port of the endpoint, and returns the server when it listens. Port 0 is a free port. */
export async function listenAt(
  { host, port }: { host?: string | undefined; port: number },
  respond: (request: Request) => Promise<Response>,
): Promise<NodeServer> {
  const node = (globalThis as { process?: { getBuiltinModule?(name: string): unknown } }).process;
  const http = node?.getBuiltinModule?.('node:http') as NodeHttp | undefined;
  if (!http) throw new TypeError('Only Node can listen. Pass `listen: false`, and call `respond` for each request.');
  const server = http.createServer((request, response) => {
    void answerNode(request, response, respond).catch(() => {
      response.writeHead(400, {});
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}

async function answerNode(
  incoming: NodeRequest,
  outgoing: NodeResponse,
  respond: (request: Request) => Promise<Response>,
): Promise<void> {
  const closed = new AbortController();
  outgoing.once('close', () => closed.abort());
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new TypeError('The message is too large.');
    chunks.push(Uint8Array.from(chunk));
  }
  const { method } = incoming;
  const headers = Object.entries(incoming.headers).map(([name, value = '']): [string, string] => [name, value]);
  const body = method === 'POST' ? { body: new Blob(chunks) } : {};
  const response = await respond(new Request('http://agent', { method, headers, signal: closed.signal, ...body }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value; part = await reader?.read()) outgoing.write(part.value);
  outgoing.end();
}
