import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
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
import type { LaneRoute } from '../lanes.js';

export const KEEP_ALIVE_MS = 5_000;
export const LARGE = 'x'.repeat(256 * 1_024);
const permission = 'agents:self';

/** A server with the lane before it, or without. Both ways answer the same: which address, and which body. */
export class LaneServer {
  readonly connections = new LaneConnections();
  /** How many requests were read by Node. */
  readByNode = 0;
  /** How many requests of the lane were begun. */
  begun = 0;
  /** Answers to `/slow/:id` wait for it. */
  readonly slow = Promise.withResolvers<void>();
  private readonly server: Server;

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
    made.server.listen(0, '127.0.0.1');
    await once(made.server, 'listening');
    return made;
  }

  async connect(): Promise<LaneClient> {
    const socket = connect((this.server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return new LaneClient(socket);
  }

  async stop(): Promise<void> {
    this.connections.close();
    this.server.closeAllConnections();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  private openLane(): void {
    const guard = { enter: () => ({ id: 'someone' }) as Principal } as unknown as AuthGuard;
    const log = new RequestLog(pino({ level: 'silent' }), 'errors');
    const lifecycle = new Lifecycle();
    const parts = { guard, lifecycle, metrics: new HttpMetrics(() => 0), log, gateway: new Gateway([]) };
    new ExpressLane(parts, this.connections, this.routes()).open(this.server);
  }

  private routes(): LaneRoute[] {
    const echo = (path: string, id: string, body: unknown): string => `<${path}${id} ${JSON.stringify(body)}>`;
    return [
      { url: '/echo/:id', permission, handle: (id, body, _who, answer) => answer.ok(echo('/echo/', id, body)) },
      {
        url: '/slow/:id',
        permission,
        handle: async (id, body, _who, answer) => {
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
