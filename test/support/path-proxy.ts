import { once } from 'node:events';
import { createServer, type IncomingMessage, request as forward, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A reverse proxy that serves replicas below a path, such as `/rollcall`. Requests and upgrades take turns. */
export class PathProxy {
  /** The target of the last upgrade to a WebSocket. */
  upgradedTo: string | undefined;
  private targets: readonly string[] = [];
  private turn = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly path: string,
  ) {
    server.on('request', (request, response) => this.onRequest(request, response));
    server.on('upgrade', (request, socket) => this.onUpgrade(request, socket as Socket));
  }

  static async start(path: string, targets: readonly string[]): Promise<PathProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new PathProxy(server, path);
    proxy.targets = targets;
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${this.path}`;
  }

  /** Without a target, requests are answered with 502, and open WebSockets are cut. */
  leadTo(targets: readonly string[]): void {
    this.targets = targets;
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.leadTo([]);
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private next(): URL | undefined {
    this.turn += 1;
    const target = this.targets[this.turn % this.targets.length];
    return target === undefined ? undefined : new URL(target);
  }

  private pathOf({ url = '' }: IncomingMessage): string | undefined {
    return url.startsWith(`${this.path}/`) ? url.slice(this.path.length) : undefined;
  }

  private onRequest(request: IncomingMessage, response: ServerResponse): void {
    const [target, path] = [this.next(), this.pathOf(request)];
    if (!target || path === undefined) return void response.writeHead(target ? 404 : 502).end();
    const { method, headers } = request;
    const sent = forward({ host: target.hostname, port: target.port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    request.pipe(sent);
  }

  private onUpgrade(request: IncomingMessage, client: Socket): void {
    const [target, path] = [this.next(), this.pathOf(request)];
    if (!target || path === undefined) return void client.destroy();
    this.upgradedTo = target.origin;
    const upstream = connect({ host: target.hostname, port: Number(target.port) }, () => {
      const headers = request.rawHeaders.flatMap((name, index, all) =>
        index % 2 === 0 ? `${name}: ${all[index + 1]}` : [],
      );
      upstream.write([`GET ${path} HTTP/1.1`, ...headers, '', ''].join('\r\n'));
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  }
}
