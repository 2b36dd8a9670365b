import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

/**
 * A TCP proxy in front of the tests' Postgres that counts round trips: how often a client sends something after the server has
 * answered. Statements that are pipelined share one. The proxy holds back answers for a moment, so that everything a client sends
 * without waiting arrives before the first answer.
 */
export class CountingProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private roundTrips = 0;

  private constructor(private readonly target: URL) {
    const path = join(target.searchParams.get('host') ?? '', '.s.PGSQL.5432');
    this.server = createServer((near) => this.join(near, createConnection(path)));
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

  /** The round trips of all connections while `work` runs. */
  async count(work: () => Promise<void>): Promise<number> {
    const before = this.roundTrips;
    await work();
    return this.roundTrips - before;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(near: Socket, far: Socket): void {
    let isAnswered = true;
    near.on('data', (data) => {
      if (isAnswered) this.roundTrips += 1;
      isAnswered = false;
      far.write(data);
    });
    far.on('data', (data) => {
      setTimeout(() => {
        isAnswered = true;
        near.write(data);
      }, HOLD_MS);
    });
    this.closeTogether(near, far);
    this.closeTogether(far, near);
  }

  private closeTogether(one: Socket, other: Socket): void {
    this.sockets.add(one);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

const HOLD_MS = 5;
