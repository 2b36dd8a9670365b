import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of one replica, which can be exchanged. With `cutChance`, it cuts connections at random while data passes. */
export class RestlessProxy {
  /** How many connections were cut. */
  cuts = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client) => this.accept(client));

  private constructor(
    private target: string,
    private readonly cutChance: number,
  ) {}

  static async start(target: string, cutChance = 0): Promise<RestlessProxy> {
    const proxy = new RestlessProxy(target, cutChance);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** New connections lead to this replica. */
  leadTo(target: string): void {
    this.target = target;
  }

  cutAll(): void {
    this.cuts += this.sockets.size;
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cutAll();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    const { hostname, port } = new URL(this.target);
    const upstream = connect({ host: hostname, port: Number(port) });
    this.join(client, upstream);
    this.join(upstream, client);
  }

  private join(from: Socket, to: Socket): void {
    this.sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      if (Math.random() < this.cutChance) {
        this.cuts += 1;
        from.destroy();
      } else if (!to.write(chunk)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
    });
    from.on('error', () => undefined); // the 'close' event follows and is handled
    from.once('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
  }
}
