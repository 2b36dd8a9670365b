import { createServer, createConnection, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** A TCP proxy in front of the Postgres of the tests. It delays every packet by half of the round-trip time. */
export class SlowProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  private constructor(
    private readonly target: URL,
    /** A test may change it while connections are open. */
    public roundTripMs: number,
  ) {
    const path = join(target.searchParams.get('host') ?? '', '.s.PGSQL.5432');
    this.server = createServer((client) => {
      const upstream = createConnection(path);
      this.pass(client, upstream);
      this.pass(upstream, client);
    });
  }

  static async start(databaseUrl: string, roundTripMs: number): Promise<SlowProxy> {
    const proxy = new SlowProxy(new URL(databaseUrl), roundTripMs);
    await new Promise<void>((listening) => proxy.server.listen(0, '127.0.0.1', listening));
    return proxy;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `postgresql://${this.target.username}@127.0.0.1:${port}${this.target.pathname}`;
  }

  private pass(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('data', (data) => setTimeout(() => to.write(data), this.roundTripMs / 2));
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}
