import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy that sends each request to the next replica. Bodies and streams pass through unchanged. */
export class RoundRobin {
  /** The URLs of the replicas. */
  targets: readonly string[] = [];
  /** Headers that the proxy adds to each request. */
  headers: Readonly<Record<string, string>> = {};
  private turn = 0;

  private constructor(private readonly server: Server) {
    server.on('request', (incoming, outgoing) => {
      const { method, url = '/', headers } = incoming;
      const forwarded = request(
        new URL(url, this.next()),
        { method, headers: { ...headers, ...this.headers } },
        (response) => {
          outgoing.writeHead(response.statusCode ?? 502, response.headers);
          outgoing.flushHeaders(); // the first event of a stream may come later
          response.pipe(outgoing);
        },
      );
      forwarded.on('error', () => outgoing.destroy());
      outgoing.once('close', () => forwarded.destroy());
      incoming.pipe(forwarded);
    });
  }

  static async start(): Promise<RoundRobin> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RoundRobin(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private next(): string {
    this.turn += 1;
    return this.targets[this.turn % this.targets.length] ?? '';
  }
}
