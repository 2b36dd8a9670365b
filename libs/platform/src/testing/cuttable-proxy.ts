import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/**
 * `cut` closes all connections and rejects new ones. `stalled` accepts connections but forwards nothing, like a network
 * partition.
 */
type Condition = 'open' | 'cut' | 'stalled';

/**
 * A TCP proxy whose connections can be cut or stalled. It distributes connections to several targets round-robin and skips
 * a target that rejects the connection.
 */
export class CuttableProxy {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private condition: Condition = 'open';
  private nextTarget = 0;

  private constructor(private readonly targets: readonly NetConnectOpts[]) {
    this.server = createServer({ pauseOnConnect: true }, (client) => void this.accept(client));
  }

  static async start(...targets: NetConnectOpts[]): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(targets);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  cut(): void {
    this.condition = 'cut';
    for (const socket of this.sockets) socket.destroy();
  }

  stall(): void {
    this.condition = 'stalled';
    for (const socket of this.sockets) socket.pause();
  }

  /** Stalled connections continue where they stopped. */
  heal(): void {
    this.condition = 'open';
    for (const socket of this.sockets) socket.resume();
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private async accept(client: Socket): Promise<void> {
    this.track(client);
    const upstream = this.condition === 'cut' ? undefined : await this.dial();
    if (!upstream || client.destroyed) {
      upstream?.destroy();
      return void client.destroy();
    }
    this.track(upstream);
    this.join(client, upstream);
    this.join(upstream, client);
    this.apply(client, upstream);
  }

  /** Applies the current condition, which may have changed while the connection was opened. */
  private apply(...sockets: Socket[]): void {
    for (const socket of sockets) {
      if (this.condition === 'cut') socket.destroy();
      if (this.condition === 'open') socket.resume();
    }
  }

  private async dial(): Promise<Socket | undefined> {
    const first = this.nextTarget++;
    for (let tried = 0; tried < this.targets.length; tried++) {
      const target = this.targets[(first + tried) % this.targets.length];
      const socket = await dial(target);
      if (socket) return socket;
    }
    return undefined;
  }

  /** Does not use `pipe`, which would resume a stalled socket. */
  private join(from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      if (!to.write(chunk)) from.pause();
    });
    from.on('drain', () => this.condition !== 'stalled' && to.resume());
    from.on('end', () => to.end());
    from.on('close', () => to.destroy());
    if (this.condition === 'stalled') from.pause();
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined); // the 'close' event follows and is handled
    socket.once('close', () => this.sockets.delete(socket));
  }
}

async function dial(target: NetConnectOpts): Promise<Socket | undefined> {
  const socket = connect({ ...target, allowHalfOpen: false });
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  socket.once('connect', () => resolve(socket));
  socket.once('error', () => resolve(undefined));
  const connected = await promise;
  connected?.pause();
  return connected;
}

/** Starts a proxy in front of the Postgres at this URL, and returns the URL of the proxy. */
export async function proxyPostgres(databaseUrl: string): Promise<{ proxy: CuttableProxy; url: string }> {
  const url = new URL(databaseUrl);
  const folder = url.searchParams.get('host');
  const port = Number(url.port || 5432);
  const target = folder ? { path: `${folder}/.s.PGSQL.${port}` } : { host: url.hostname, port };
  const proxy = await CuttableProxy.start(target);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return { proxy, url: url.toString() };
}
