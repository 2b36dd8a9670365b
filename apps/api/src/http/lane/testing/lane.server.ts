import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { until } from '#rollcall/registry/testing';
import type { AuthGuard } from '../../../auth/auth.guard.js';
import type { Principal } from '../../../auth/principal.js';
import { Lifecycle } from '../../../health/lifecycle.js';
import { HttpMetrics } from '../../../telemetry/http.metrics.js';
import { Gateway } from '../../gateway.js';
import { RequestLog } from '../../request.log.js';
import { ExpressLane } from '../express.lane.js';
import { LaneConnections } from '../lane.connections.js';
import type { LaneRoute, UnderWay } from '../lanes.js';

export const KEEP_ALIVE_MS = 5_000;
export const LIMIT_MS = 15_000;
export const LARGE = 'x'.repeat(256 * 1_024);
const permission = 'agents:self';

/** A server with the lane before it, or without. Both ways answer the same: which address, and which body. */
export class LaneServer {
  readonly connections = new LaneConnections();
  readonly lifecycle = new Lifecycle();
  /** A line for each request of the lane. */
  readonly log: string[] = [];
  /** How many requests were read by Node. */
  readByNode = 0;
  /** How many requests of the lane were begun. */
  begun = 0;
  /** Answers to `/slow/:id` wait for it. */
  readonly slow = Promise.withResolvers<void>();
  lane?: ExpressLane;
  private readonly server: Server;
  private readonly sockets: Socket[] = [];

  private constructor() {
    this.server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (asked, response) => {
      this.readByNode += 1;
      const chunks: Buffer[] = [];
      asked.on('data', (chunk: Buffer) => chunks.push(chunk));
      asked.on('end', () => response.end(`<${asked.url} ${Buffer.concat(chunks).toString()}>`));
    });
    this.server.on('clientError', (_error, socket: Socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  }

  static async start({ withLane = true } = {}): Promise<LaneServer> {
    const made = new LaneServer();
    if (withLane) made.openLane();
    made.server.on('connection', (socket: Socket) => made.sockets.push(socket));
    made.server.listen(0, '127.0.0.1');
    await once(made.server, 'listening');
    return made;
  }

  /** One that `staysOpen` does not end its side of the connection when the server has ended the other. */
  async connect({ staysOpen = false } = {}): Promise<LaneClient> {
    const { port } = this.server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: staysOpen });
    await once(socket, 'connect');
    return new LaneClient(socket);
  }

  async hasConnections(count: number): Promise<void> {
    const open = promisify(this.server.getConnections.bind(this.server));
    await until(`it has ${count} connections`, async () => (await open()) === count);
  }

  /** Settles when so many bytes have come, by all connections together. */
  async hasRead(bytes: number): Promise<void> {
    const read = (): number => this.sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    await until(`${bytes} bytes have come`, () => read() >= bytes);
  }

  async stop(): Promise<void> {
    this.connections.close();
    this.server.closeAllConnections();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  private openLane(): void {
    const guard = { enter: () => ({ id: 'someone' }) as Principal } as unknown as AuthGuard;
    const log = new RequestLog(pino({}, { write: (line) => this.log.push(line) }), 'all');
    const parts = {
      guard,
      lifecycle: this.lifecycle,
      metrics: new HttpMetrics(() => 0),
      log,
      gateway: new Gateway([]),
      limitMs: LIMIT_MS,
      underWay: new Set<UnderWay>(),
    };
    this.lane = new ExpressLane(parts, this.connections, this.routes());
    this.lane.open(this.server);
  }

  private routes(): LaneRoute[] {
    const echo = (path: string, id: string, body: unknown): string => `<${path}${id} ${JSON.stringify(body)}>`;
    return [
      { url: '/echo/:id', permission, handle: (id, body, _who, answer) => answer.ok(echo('/echo/', id, body)) },
      {
        url: '/slow/:id',
        permission,
        handle: async (id, body, _who, answer) => {
          this.begun += 1;
          await this.slow.promise;
          answer.okAscii(echo('/slow/', id, body));
        },
      },
      {
        url: '/large',
        permission,
        handle: (_id, _body, _who, answer) => {
          this.begun += 1;
          answer.okAscii(LARGE);
        },
      },
    ];
  }
}

class LaneClient {
  received = '';
  isClosed = false;

  constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('data', (text: string) => (this.received += text));
    socket.on('close', () => (this.isClosed = true)).on('error', () => undefined);
  }

  /** The answers so far: what the server makes of each request. */
  get answers(): string[] {
    return this.received.match(/<[^>]*>|HTTP\/1.1 [^2]\d\d/g) ?? [];
  }

  /** Settles when nothing more comes. */
  async quiet(): Promise<void> {
    for (let before = -1; before !== this.received.length; await delay(15)) before = this.received.length;
  }

  /** Asks for so many large answers, and reads none. */
  async askWithoutReading(count: number): Promise<void> {
    this.socket.pause();
    for (let asked = 0; asked < count; asked++) {
      this.socket.write(request('/large'));
      await delay(2);
    }
  }

  async answered(count: number): Promise<string[]> {
    await until(`${count} answers`, () => this.answers.length >= count);
    return this.answers;
  }
}

/** Of a text whose characters are bytes. */
export function request(path: string, body = '{"n":1}', lines: string[] = [], method = 'POST'): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: here', 'Content-Type: application/json', ...lines];
  return `${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
