import { createServer, createConnection, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/** A TCP proxy in front of the tests' Postgres that holds back every packet for half of the round-trip time. */
export class SlowProxy {
  private constructor(
    readonly url: string,
    private readonly server: Server,
    private readonly sockets: Set<Socket>,
  ) {}

  static async start(databaseUrl: string, roundTripMs: number): Promise<SlowProxy> {
    const target = new URL(databaseUrl);
    const path = join(target.searchParams.get('host') ?? '', '.s.PGSQL.5432');
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      const far = createConnection(path);
      for (const [from, to] of [[near, far] as const, [far, near] as const]) {
        sockets.add(from);
        from.on('data', (data) => setTimeout(() => to.write(data), roundTripMs / 2));
        from.on('error', () => to.destroy());
        from.on('close', () => to.destroy());
      }
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const url = `postgresql://${target.username}@127.0.0.1:${port}${target.pathname}`;
    return new SlowProxy(url, server, sockets);
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}
