import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CloudEvent } from '#rollcall/platform';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  event: CloudEvent;
}

interface Reply {
  status: number;
  headers?: Record<string, string>;
}

/** A webhook endpoint on this machine. It records the deliveries that it confirms, and responds as the test configures. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  /** Returns undefined to send no response. */
  answer: (request: Received) => Reply | undefined = () => ({ status: 204 });

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => void this.onRequest(request, response));
  }

  static async start(): Promise<WebhookReceiver> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookReceiver(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  get subjects(): string[] {
    return this.received.map(({ event }) => event.subject);
  }

  private async onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { url: path = '', headers } = request;
    const delivery = { path, headers, body, event: JSON.parse(body) as CloudEvent };
    const reply = this.answer(delivery);
    if (reply && reply.status < 300) this.received.push(delivery);
    if (reply) response.writeHead(reply.status, reply.headers).end();
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
