import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: unknown;
}

type Answer = (request: RecordedRequest, response: ServerResponse) => unknown;

/** An HTTP server on a free loopback port. It records requests and open connections. */
export class LocalServer {
  readonly requests: RecordedRequest[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly busy = new Set<ServerResponse>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  static async start(answer: Answer): Promise<LocalServer> {
    const http = createServer((request, response) => {
      void local.handle(request, response, answer);
    });
    const local = new LocalServer(http);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return local;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The number of open connections, including idle ones. */
  get openConnections(): number {
    return this.sockets.size;
  }

  /** The number of requests whose response has neither ended nor been aborted. */
  get busyConnections(): number {
    return this.busy.size;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
    this.busy.add(response);
    response.once('close', () => this.busy.delete(response));
    response.on('error', () => undefined); // the client may disconnect at any time; tests check openConnections
    const body = parse(await text(request).catch(() => ''));
    const record = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    this.requests.push(record);
    await answer(record, response);
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body; // not every request has a JSON body
  }
}
