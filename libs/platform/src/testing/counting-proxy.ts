import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/**
 * A TCP proxy in front of the Postgres of the tests. It counts round trips: how often a client sends data after
 * a response of the server. Pipelined statements share one round trip. The proxy delays responses a little, so that all
 * statements that a client sends without waiting arrive before the first response.
 */
export class CountingProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private roundTrips = 0;

  private constructor(private readonly target: URL) {
    const path = join(target.searchParams.get('host') ?? '', '.s.PGSQL.5432');
    this.server = createServer((client) => this.join(client, createConnection(path)));
  }

  static async start(databaseUrl: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(new URL(databaseUrl));
    await new Promise<void>((listening) => proxy.server.listen(0, '127.0.0.1', listening));
    return proxy;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `postgresql://${this.target.username}@127.0.0.1:${port}${this.target.pathname}`;
  }

  /** Returns the number of round trips of all connections while `work` runs. */
  async count(work: () => Promise<void>): Promise<number> {
    const before = this.roundTrips;
    await work();
    return this.roundTrips - before;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(client: Socket, upstream: Socket): void {
    let isAnswered = true;
    client.on('data', (data) => {
      if (isAnswered) this.roundTrips += 1;
      isAnswered = false;
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      setTimeout(() => {
        isAnswered = true;
        client.write(data);
      }, RESPONSE_DELAY_MS);
    });
    this.closeTogether(client, upstream);
    this.closeTogether(upstream, client);
  }

  private closeTogether(one: Socket, other: Socket): void {
    this.sockets.add(one);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

const RESPONSE_DELAY_MS = 5;
